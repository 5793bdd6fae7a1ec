"""The page's large parts: what is said of each model, by workers, beside the explorer's data and the decision paths."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from imagenet_errors.report.comparison import all_comparisons
from imagenet_errors.report.page.explained import ShownExplanations, filter_content
from imagenet_errors.report.page.explorer import Shown, explorer_content, packed, pair_content, path_content
from imagenet_errors.report.page.paths import decision_paths
from imagenet_errors.report.page.pictures import Pictures
from imagenet_errors.report.page.views import Setting, model_view
from imagenet_errors.workers import beside, n_jobs

if TYPE_CHECKING:
    from jinja2 import Template

MOST_COMPARED = 100
"""Models that are compared with each other: at 100 their 4,950 pairs take about 1 MB."""
_FEWEST_A_WORKER = 10


@dataclass(frozen=True, eq=False)
class PageFacts:
    """All that a page is rendered from."""

    setting: Setting
    shown: Shown
    pictures: Pictures
    explained: ShownExplanations


@dataclass(frozen=True)
class ModelSections:
    """What the page says of one model alone, as HTML."""

    place: int
    name: str
    facts: dict[str, Any]
    html: str


@dataclass(frozen=True)
class PageParts:
    """The models in order, and packed data for the script; ``lacks``: what the paths lack, in a sentence."""

    models: tuple[ModelSections, ...]
    book: str
    paths: str
    explanations: str
    lacks: str

    @property
    def other_models(self) -> str:
        """The models behind the one in front, packed."""
        return packed([model.html for model in self.models[1:]])


def make_parts(
    setting: Setting, gather: Callable[[], PageFacts], template: Template, context: Mapping[str, Any]
) -> tuple[PageFacts, PageParts]:
    """Make all parts; ``template`` renders one model, with ``context``. ``gather``: what the others are made from."""

    def of_run() -> tuple[PageFacts, str, tuple[str, str]]:
        facts = gather()
        return facts, _book(facts), _paths(facts)

    def of_model(place: int) -> ModelSections:
        view = model_view(setting, place)
        return ModelSections(view.place, view.name, view.facts, template.render(context, view=view))

    def of_share(places: Sequence[int]) -> list[ModelSections]:
        return [of_model(place) for place in places]

    n_models = len(setting.run.models)
    n_shares = max(1, min(n_jobs() - 1, n_models // _FEWEST_A_WORKER))
    shares = [share.tolist() for share in np.array_split(np.arange(n_models), n_shares)]
    (facts, book, (paths, lacks)), made = beside(of_share, shares, of_run)
    models = tuple(model for some in made for model in some)
    return facts, PageParts(models, book, paths, packed(facts.explained.rows() or None), lacks)


def _book(facts: PageFacts) -> str:
    """Return what the explorer's script reads, packed."""
    run = facts.setting.run
    content = explorer_content(facts.setting, facts.shown, pictures=facts.pictures)
    pairs = pair_content(all_comparisons(run, most=MOST_COMPARED))
    filters = filter_content(facts.explained, run, facts.shown.cases)
    return packed(content | {"run": str(run.folder), "pairs": pairs, "explained": filters})


def _paths(facts: PageFacts) -> tuple[str, str]:
    """Return the decision paths, packed, and what they lack."""
    setting = facts.setting
    paths = decision_paths(setting.run, facts.shown.cases, setting.labels)
    return packed(path_content(paths, setting.labels)), paths.missing
