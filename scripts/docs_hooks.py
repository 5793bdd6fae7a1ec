"""What the site needs beyond mkdocs: files outside docs/ that pages link to (reports, definitions) come along.

Links are written for the repository (``../reports/x.md`` from a page in docs/), so that they work there, too.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

TOP = Path(__file__).resolve().parents[1]
ALONG = (
    "*.md",
    "CITATION.cff",
    "reports/*",
    "superclasses/*",
    "data/README.md",
    "data/demo/README.md",
    "data/licences/*",
)
_INTO_DOCS = re.compile(r"\]\((?P<up>(?:\.\./)*)docs/")
_OUT_OF_DOCS = re.compile(r"\]\(\.\./(?=[a-zA-Z])")


def on_files(files: Files, config: Any) -> Files:
    """Add the files outside docs/ that pages link to, under the places that they have in the repository."""
    for pattern in ALONG:
        for path in sorted(TOP.glob(pattern)):
            place = path.relative_to(TOP).as_posix()
            if path.is_file() and files.get_file_from_path(place) is None:
                files.append(File.generated(config, place, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_more: Any) -> str:
    """Make links of pages in docs/ and beside it start from the site's top, where both lie together."""
    if page.file.generated_by is None and "/" not in page.file.src_uri:
        return _OUT_OF_DOCS.sub("](", markdown)
    return _INTO_DOCS.sub(r"](\g<up>", markdown)
