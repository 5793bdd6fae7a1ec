"""What the site needs beyond mkdocs: files outside docs/ that pages link to (reports, definitions) come along.

Links are written for the repository (``../reports/x.md`` from a page in docs/), so that they work there, too.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

TOP = Path(__file__).resolve().parents[1]
ALONG = ("reports/*", "superclasses/README.md", "data/README.md", "data/demo/README.md", "data/licences/*", "*.md",
         "CITATION.cff", "superclasses/*.toml", "docs/notebooks/*.ipynb")  # fmt: skip
_LINK = re.compile(r"\]\((?P<up>(?:\.\./)+)?(?P<docs>docs/)?")


def on_files(files: Files, config: Any) -> Files:
    """Add the files outside docs/ that pages link to, under the places that they have in the repository."""
    for pattern in ALONG:
        for path in sorted(TOP.glob(pattern)):
            place = path.relative_to(TOP).as_posix()
            if not place.startswith("docs/") and files.get_file_from_path(place) is None:
                files.append(File.generated(config, place, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Make links of pages in docs/ and beside it start from the site's top, where both lie together."""
    depth = page.file.src_uri.count("/")
    is_outside = Path(page.file.abs_src_path).is_relative_to(TOP) and "docs" not in Path(
        page.file.abs_src_path
    ).relative_to(TOP).parts[:1]  # fmt: skip

    def turned(match: re.Match[str]) -> str:
        up = (match["up"] or "").count("../")
        if not is_outside:
            return f"]({'../' * max(0, up - 1)}" if up > depth else match[0]
        return f"]({match['up'] or ''}"

    return _LINK.sub(turned, markdown)
