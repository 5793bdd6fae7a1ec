"""The report: one HTML file that holds all it needs, and runs nothing but its own script.

Text out of the data reaches the page in two ways only: through the templates, which escape everything, and as JSON
in elements that are no script, whose values the script puts on the page as text. A content security policy in the
page allows just the one script and style sheet, by hash, and no address outside.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from imagenet_errors.datasets import Dataset
from imagenet_errors.evidence.superclasses import Superclasses, load_superclasses
from imagenet_errors.files import written_whole
from imagenet_errors.measure import special_functions
from imagenet_errors.prepared import cache_folder
from imagenet_errors.problems import InputError, without_folders
from imagenet_errors.report.factors import read_factors
from imagenet_errors.report.looks import look_of, looks
from imagenet_errors.report.page.explained import (
    explained_run,
    title_of,
    verdicts_of,
)
from imagenet_errors.report.page.explorer import MOST_GROUPS, Shown, shown_cases
from imagenet_errors.report.page.model_table import MODEL_COLUMNS, model_rows, told_types
from imagenet_errors.report.page.parts import MOST_COMPARED, PageFacts, PageParts, make_parts
from imagenet_errors.report.page.pictures import NO_PICTURES, Pictures, find_pictures, pictures_for
from imagenet_errors.report.page.scatter import panels, severe_slopes
from imagenet_errors.report.page.views import Setting, run_view
from imagenet_errors.report.points import (
    FACTS,
    Points,
    is_like_published,
    points_of_run,
    published_folder,
    published_points,
    read_published,
    unasked_by_all,
)
from imagenet_errors.runs.manifest import read_manifest
from imagenet_errors.runs.tables import RunTables, load_run_tables
from imagenet_errors.shipped import needs

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"
SCRIPTS = ("columns.js", "explorer.js", "explanations.js", "rows.js", "matrix.js", "compare.js", "models.js", "page.js")
PUBLISHED_SCRIPTS = ("elements.js", "models.js", "published.js")
DEFAULT_NAME = "report.html"


@dataclass(frozen=True)
class ExtraSection:
    """A section that another part of the program puts into the page, after the model's own.

    ``name`` is its anchor and ``title`` its entry in the navigation; ``template`` a Jinja file, rendered with
    ``section`` (this object) and ``parts`` (the macros of parts.html), everything escaped; ``content`` is whatever
    the template shows. It may hold pictures as ``data:`` addresses; scripts and addresses outside do not run.
    """

    name: str
    title: str
    template: Path
    content: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ReportRequest:
    """What to show. ``out`` None: ``report.html`` in the run directory. ``models``: those to show, the first
    in front; all of the run, the most accurate in front, if empty. ``factors``: a table of image factors (ImageNet-X).
    ``pictures_anyway``: explanations show pictures even where their controls say that these are no evidence.
    """

    run: Path
    out: Path | None = None
    models: tuple[str, ...] = ()
    images: Path | None = None
    published: Path | None = None
    factors: Path | None = None
    n_thumbnails: int = 400
    n_cases: int = 100_000
    pictures_anyway: bool = False
    sections: tuple[ExtraSection, ...] = ()


@dataclass(frozen=True)
class WrittenPage:
    """The page that was written: where, its size in bytes, how many errors it holds, and what it lacks."""

    path: Path
    n_bytes: int
    n_cases: int
    notes: tuple[str, ...]


def write_report(request: ReportRequest) -> WrittenPage:
    """Write the report of a run directory.

    Raises
    ------
    InputError
        The folder is no run, something named is not there, or the packages of the ``report`` extra are missing.
    """
    out = request.out or request.run / DEFAULT_NAME
    with ThreadPoolExecutor(1) as ahead:
        reading = ahead.submit(load_run_tables, request.run, models=request.models)
        environment, published = page_environment(), _published(request)
        special_functions()  # so that they are loaded before workers fork
        run = reading.result()
    setting = _setting(request, run, published)

    def gather() -> PageFacts:
        shown = shown_cases(run.cases, most=request.n_cases)
        pictures = _pictures(request, run, shown, beside=out.parent)
        return PageFacts(setting, shown, pictures, explained_run(run, anyway=request.pictures_anyway))

    context = _context(setting)
    facts, parts = make_parts(setting, gather, environment.get_template("model.html"), context)
    notes = _notes(facts, parts)
    sections = _rendered(environment, request.sections)
    html = _render(environment, facts, parts, context=context | {"notes": notes, "sections": sections})
    n_bytes = _write(out, html)
    return WrittenPage(out, n_bytes, len(facts.shown.cases), notes)


def write_published(given: Path | None, out: Path) -> WrittenPage:
    """Write the page of the published models alone: their table and plots.

    Raises
    ------
    InputError
        The published statistics are not at hand, or the packages of the ``report`` extra are missing.
    """
    environment = page_environment()
    points = published_points(given)
    facts = [
        {name: points.facts[name][model] for name in FACTS if points.facts[name][model]} for model in range(len(points))
    ]
    html = _with_style(
        environment,
        "published.html",
        PUBLISHED_SCRIPTS,
        points=points,
        panels=panels(points, None, trend_of=points),
        rows=model_rows(points, facts, places=False),
        types=told_types(points),
        facts=FACTS,
        slopes=severe_slopes(points),
    )
    return WrittenPage(out, _write(out, html), 0, ())


def page_environment() -> Environment:
    """Return the template engine: everything is escaped, an unknown name is an error.

    Raises
    ------
    InputError
        jinja2 is not installed.
    """
    jinja2 = needs("jinja2", extra="report")
    environment: Environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=_kept_templates(jinja2),
    )
    filters: dict[str, Any] = {"count": lambda n: f"{n:,}", "percent": _percent, "slug": _slug, "whole": _whole}
    filters["without_folders"] = without_folders
    environment.filters |= filters
    environment.globals |= {"looks": looks(), "look_of": look_of, "columns": MODEL_COLUMNS}
    return environment


def _kept_templates(jinja2: Any) -> Any:
    """Return where compiled templates are kept; None where nothing can be."""
    folder = cache_folder() / "templates"
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return jinja2.FileSystemBytecodeCache(str(folder))
    return None


def _percent(share: float | None, digits: int = 1) -> str:
    return "–" if share is None else f"{100 * share:.{digits}f}%"


def _whole(number: float) -> str:
    """Return a number of errors for people: no digits after the point but below 10."""
    return f"{number:.1f}" if abs(number) < 10 and number != round(number) else f"{number:,.0f}"


def _slug(name: str) -> str:
    return name.replace("_", "-")


def _published(request: ReportRequest) -> Points | None:
    """Return the published models that the run's compare with, if they are at hand."""
    data_set = read_manifest(request.run).as_inputs().data_set
    folder = published_folder(request.published, data_set) if is_like_published(data_set) else None
    return None if folder is None else read_published(folder, data_set)


def _setting(request: ReportRequest, run: RunTables, published: Points | None) -> Setting:
    data_set = run.manifest.as_inputs().data_set
    unasked = unasked_by_all(run, data_set, published)
    ours, beside = points_of_run(run), points_of_run(run, unasked)
    factors = None if request.factors is None else read_factors(request.factors, run.file_names)
    shown = panels(beside, published)
    return Setting(run, data_set, _superclasses(run, data_set), ours, published, shown, factors, beside, unasked)


def _superclasses(run: RunTables, data_set: Dataset) -> Superclasses | None:
    """Return the superclasses that the run used; None where it had none, or the user's own are gone or broken."""
    own = run.manifest.as_inputs().file("superclasses") or data_set.superclasses
    if own is None and not data_set.labels.is_imagenet:
        return None
    try:
        return load_superclasses(own, labels=data_set.labels)
    except InputError:
        return None


def _pictures(request: ReportRequest, run: RunTables, shown: Shown, *, beside: Path) -> Pictures:
    if request.images is None:
        return NO_PICTURES
    needs("PIL", extra="report")
    cases = shown.cases
    most_severe_first = cases.image[np.lexsort((-cases.n_makers, -cases.error_type))]
    found = find_pictures(request.images, run.file_names)
    return pictures_for(found, most_severe_first, beside=beside, n_embedded=request.n_thumbnails)


def _notes(facts: PageFacts, parts: PageParts) -> tuple[str, ...]:
    """Return what the reader must know of what is not in the page."""
    run, shown, pictures = facts.setting.run, facts.shown, facts.pictures
    notes = [parts.lacks] if parts.lacks else []
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
    n_groups = len(run.figures.groups) - 1
    if n_groups > MOST_GROUPS:
        notes.append(f"The explorer filters by the first {MOST_GROUPS} of {n_groups} groups of classes.")
    if len(run.models) > MOST_COMPARED:
        notes.append(f"Only the {MOST_COMPARED} most accurate models are compared in pairs.")
    return (*notes, *facts.explained.notes)


def _context(setting: Setting) -> dict[str, Any]:
    """Return what every template of the page knows."""
    manifest = setting.run.manifest
    return {
        "setting": setting,
        "manifest": manifest,
        "annotations": manifest.labels_used,
        "labels": setting.labels,
        "n_models": len(setting.run.models),
        "n_images_there": 0 if setting.published is None else setting.published.n_images,
        "address": _addresses(setting),
    }


def _render(environment: Environment, facts: PageFacts, parts: PageParts, *, context: Mapping[str, Any]) -> str:
    from markupsafe import Markup

    setting, run = facts.setting, facts.setting.run
    return _with_style(
        environment,
        "page.html",
        SCRIPTS,
        **context,
        views=parts.models,
        run_view=run_view(setting),
        rows=model_rows(setting.ours, [_shown_facts(model.facts) for model in parts.models], places=True),
        types=told_types(setting.ours),
        compared=run.models[:MOST_COMPARED],
        has_confidence=run.has_confidence,
        has_pictures=bool(facts.pictures.links),
        explained=facts.explained,
        title_of=title_of,
        verdicts_of=verdicts_of,
        # Safe: rendered by our own templates, and base64, in which no sign is left that could end an element.
        front=Markup(parts.models[0].html),
        models_packed=Markup(parts.other_models),
        book_packed=Markup(parts.book),
        paths_packed=Markup(parts.paths),
        explanations_packed=Markup(parts.explanations),
    )


def _with_style(environment: Environment, template: str, scripts: Sequence[str], **context: Any) -> str:
    """Return a page of the template, with the style sheet and the script and their hashes."""
    from markupsafe import Markup

    style, script = environment.get_template("style.css").render(), page_script(scripts)
    return environment.get_template(template).render(
        context,
        style=Markup(style),  # safe: our own files
        script=Markup(script),
        style_hash=_hash(style),
        script_hash=_hash(script),
    )


def _rendered(environment: Environment, sections: Sequence[ExtraSection]) -> list[dict[str, str]]:
    jinja2 = needs("jinja2", extra="report")
    rendered = []
    for section in sections:
        loader = jinja2.FileSystemLoader([section.template.parent, TEMPLATES])
        template = environment.overlay(loader=loader).get_template(section.template.name)
        html = needs("markupsafe", extra="report").Markup(template.render(section=section))  # escaped by the template
        rendered.append({"name": section.name, "title": section.title, "html": html})
    return rendered


def _addresses(setting: Setting) -> Any:
    """Return the function that makes an address of the explorer: everything by name, nothing by number."""
    names: dict[str, Sequence[str]] = {"label": setting.labels.names, "prediction": setting.labels.names}
    if setting.superclasses is not None:
        names["superclass"] = setting.superclasses.names

    @cache
    def quoted(text: str) -> str:
        return quote(text, safe="", errors="replace")

    @cache
    def part(key: str, value: str | int) -> str:
        return f"&{key}={quoted(names[key][int(value)] if key in names else str(value))}"

    def address(model: str, question: Mapping[str, str | int]) -> str:
        return f"#model={quoted(model)}" + "".join([part(*asked) for asked in question.items()])

    return address


def _shown_facts(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return what is known of a model beside its figures, as text."""
    shown = {name: str(facts[name]) for name in ("arch_family", "arch_group", "training_data") if facts.get(name)}
    if facts.get("n_parameters"):
        shown["parameters"] = f"{facts['n_parameters'] / 1e6:,.1f} M"
    return shown


def page_script(scripts: Sequence[str] = SCRIPTS) -> str:
    """Return the page's one script: our files in order, closed off from the page's global names."""
    parts = [(TEMPLATES / name).read_text(encoding="utf-8") for name in dict.fromkeys(("elements.js", *scripts))]
    return '(async () => {\n"use strict";\n' + "\n".join(parts) + "\n})();\n"


def _hash(text: str) -> str:
    """Return the hash by which a content security policy names an inline element."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _write(out: Path, html: str) -> int:
    """Write the page; return its size in bytes."""
    content = html.encode()
    try:
        with written_whole(out) as partial:
            partial.write_bytes(content)
    except OSError as error:
        raise InputError(out, f"cannot be written: {error.strerror}", fix="Choose another --out.") from None
    return len(content)
