"""The report: one HTML file that holds all it needs, and runs nothing but its own script.

Text out of the data reaches the page in two ways only: through the templates, which escape everything, and as JSON
in elements that are no script, whose values the script puts on the page as text. A content security policy in the
page allows just the one script and style sheet, by hash, and no address outside.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from imagenet_errors.chain import ERROR_TYPES
from imagenet_errors.evidence.superclasses import Superclasses, load_superclasses
from imagenet_errors.files import written_whole
from imagenet_errors.labels import LabelSpace, imagenet_1k
from imagenet_errors.problems import InputError
from imagenet_errors.report.comparison import Comparison, all_comparisons
from imagenet_errors.report.looks import looks
from imagenet_errors.report.page.embed import column, packed, script_json
from imagenet_errors.report.page.explorer import Shown, explorer_content, path_content, shown_cases
from imagenet_errors.report.page.paths import Paths, decision_paths
from imagenet_errors.report.page.pictures import NO_PICTURES, Pictures, find_pictures, pictures_for
from imagenet_errors.report.page.scatter import panels
from imagenet_errors.report.page.views import Setting, model_view
from imagenet_errors.report.published import (
    N_EVALUATED_THERE,
    Points,
    points_of_run,
    published_folder,
    read_published,
)
from imagenet_errors.runs.tables import RunTables, load_run_tables

if TYPE_CHECKING:
    from jinja2 import Environment

PANELS = ("model_failure", *(name for name in ERROR_TYPES[3:] if name != "model_failure"))
TEMPLATES = Path(__file__).parent / "templates"
SCRIPTS = ("columns.js", "explorer.js", "rows.js", "compare.js", "page.js")
DEFAULT_NAME = "report.html"
MOST_COMPARED = 100
"""Models that are compared with each other: at 100 their 4,950 pairs take about 1 MB."""


@dataclass(frozen=True)
class ReportRequest:
    """What to show. ``out`` None: ``report.html`` in the run directory. ``models``: those to show, the first
    in front; all of the run, the most accurate in front, if empty.
    """

    run: Path
    out: Path | None = None
    models: tuple[str, ...] = ()
    images: Path | None = None
    published: Path | None = None
    n_thumbnails: int = 400
    n_cases: int = 100_000


@dataclass(frozen=True)
class Written:
    """The page that was written: where, its size in bytes, how many errors it holds, and what it lacks."""

    path: Path
    n_bytes: int
    n_cases: int
    notes: tuple[str, ...]


def write_report(request: ReportRequest) -> Written:
    """Write the report of a run directory.

    Raises
    ------
    InputError
        The folder is no run, something named is not there, or the packages of the ``report`` extra are missing.
    """
    environment = page_environment()
    labels = imagenet_1k()
    out = request.out or request.run / DEFAULT_NAME
    run = load_run_tables(request.run, models=request.models)
    shown = shown_cases(run.cases, most=request.n_cases)
    paths = decision_paths(run, shown.cases, labels)
    pictures = _pictures(request, run, shown, beside=out.parent)
    notes = _notes(run, shown, paths, pictures=pictures)
    folder = published_folder(request.published)
    setting = _setting(run, labels, None if folder is None else read_published(folder))
    html = render(environment, setting, shown, paths=paths, pictures=pictures, notes=notes)
    _write(out, html)
    return Written(out, len(html.encode()), len(shown.cases), notes)


def page_environment() -> Environment:
    """Return the template engine: everything is escaped, an unknown name is an error.

    Raises
    ------
    InputError
        jinja2 is not installed.
    """
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError:
        raise InputError(
            "report", "needs jinja2, which is not installed", fix="Run: pip install 'imagenet-errors[report]'"
        ) from None
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"count": lambda n: f"{n:,}", "percent": _percent, "slug": _slug}
    return environment


def _percent(share: float | None, digits: int = 1) -> str:
    return "–" if share is None else f"{100 * share:.{digits}f}%"


def _slug(name: str) -> str:
    return name.replace("_", "-")


def _setting(run: RunTables, labels: LabelSpace, published: Points | None) -> Setting:
    ours = points_of_run(run)
    return Setting(run, labels, _superclasses(run), ours, published, panels(ours, published, PANELS))


def _superclasses(run: RunTables) -> Superclasses | None:
    """Return the superclasses that the run used; None where the user's own are gone or broken."""
    try:
        return load_superclasses(run.manifest.as_inputs().file("superclasses"))
    except InputError:
        return None


def _pictures(request: ReportRequest, run: RunTables, shown: Shown, *, beside: Path) -> Pictures:
    if request.images is None:
        return NO_PICTURES
    try:
        import PIL  # noqa: F401  # only whether it is there
    except ImportError:
        raise InputError(
            "--images", "needs pillow, which is not installed", fix="Run: pip install 'imagenet-errors[report]'"
        ) from None
    cases = shown.cases
    most_severe_first = cases.image[np.lexsort((-cases.n_makers, -cases.error_type))]
    found = find_pictures(request.images, run.file_names)
    return pictures_for(found, most_severe_first, beside=beside, n_embedded=request.n_thumbnails)


def _notes(run: RunTables, shown: Shown, paths: Paths, *, pictures: Pictures) -> tuple[str, ...]:
    """Return what the reader must know of what is not in the page."""
    notes = [paths.missing] if paths.missing else []
    if shown.n_held_back:
        notes.append(
            f"The explorer holds {len(shown.cases):,} of {len(run.cases):,} distinct errors: the most severe, "
            "and among equals those that most models make. --cases N holds more."
        )
    n_linked = len(pictures.links) - len(pictures.thumbnails)
    if n_linked > 0:
        notes.append(
            f"{len(pictures.thumbnails):,} pictures are inside this file; {n_linked:,} more are only linked, "
            "and show while the image folder stays where it is. --thumbnails N puts more inside."
        )
    if pictures.n_unreadable:
        notes.append(f"{pictures.n_unreadable:,} of the pictures could not be read.")
    if len(run.models) > MOST_COMPARED:
        notes.append(f"Only the {MOST_COMPARED} most accurate models are compared in pairs.")
    return tuple(notes)


def render(
    environment: Environment,
    setting: Setting,
    shown: Shown,
    *,
    paths: Paths,
    pictures: Pictures,
    notes: Sequence[str] = (),
) -> str:
    """Return the page."""
    from markupsafe import Markup

    run = setting.run
    style = environment.get_template("style.css").render(looks=looks())
    script = page_script()
    explorer = explorer_content(run, shown, labels=setting.labels, superclasses=setting.superclasses, pictures=pictures)
    walks = path_content(paths, setting.labels)
    pairs = all_comparisons(run, most=MOST_COMPARED)
    # Safe: our own files, and data in which no sign is left that could end an element.
    ours = {
        "style": style,
        "script": script,
        "explorer_json": script_json(explorer | {"run": str(run.folder)}),
        "compare_json": script_json(_pair_content(pairs)),
        "paths_packed": "" if walks is None else packed(walks),
    }
    return environment.get_template(
        "page.html"
    ).render(
        {name: Markup(text) for name, text in ours.items()},  # see above
        style_hash=_hash(style),
        script_hash=_hash(script),
        setting=setting,
        manifest=run.manifest,
        annotations=Path(run.manifest.annotations).name,
        labels=setting.labels,
        views=[model_view(setting, model) for model in range(len(run.models))],
        looks=looks(),
        compared=run.models[:MOST_COMPARED],
        has_confidence=run.has_confidence,
        has_pictures=bool(pictures.links),
        n_images_there=N_EVALUATED_THERE,
        notes=notes,
    )


def page_script() -> str:
    """Return the page's one script: our files in order, closed off from the page's global names."""
    parts = [(TEMPLATES / name).read_text(encoding="utf-8") for name in SCRIPTS]
    return '(() => {\n"use strict";\n' + "\n".join(parts) + "\n})();\n"


def _pair_content(pairs: Sequence[Comparison]) -> dict[str, Any]:
    moves = np.concatenate([pair.moves.ravel() for pair in pairs]) if pairs else np.zeros(0, dtype=np.int64)
    return {
        "pairs": [[pair.a, pair.b, pair.n_same, float(f"{pair.p_value:.3g}")] for pair in pairs],
        "moves": column(moves),
    }


def _hash(text: str) -> str:
    """Return the hash by which a content security policy names an inline element."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _write(out: Path, html: str) -> None:
    try:
        with written_whole(out) as partial:
            partial.write_text(html, encoding="utf-8")
    except OSError as error:
        raise InputError(out, f"cannot be written: {error.strerror}", fix="Choose another --out.") from None
