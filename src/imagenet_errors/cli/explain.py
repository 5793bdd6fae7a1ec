"""``imagenet-errors explain``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group, Parameter

from imagenet_errors.cli import options, predicting
from imagenet_errors.cli.batch import engine_named
from imagenet_errors.cli.options import COMPUTING, INPUTS, SOME_FAILED, needed
from imagenet_errors.cli.predicting import Computing
from imagenet_errors.cli.screen import console, remark
from imagenet_errors.problems import InputError

if TYPE_CHECKING:
    from imagenet_errors.explain.ask import ExplainRequest
    from imagenet_errors.explain.job import Method
    from imagenet_errors.explain.questions import ErrorChoice

EXPLAINING = Group("Explaining", sort_key=2)


@Parameter(name="*", group=INPUTS)
@dataclass(frozen=True, kw_only=True)
class Asking:
    """Which answers of which model."""

    model: Annotated[str, Parameter(help="A timm model, or MODEL=CHECKPOINT. Needed.", show_default=False)] = ""
    run_model: Annotated[str, Parameter(help="What the run calls it, where that is another name.")] = ""
    images: Annotated[
        Path | None, Parameter(help="The folder of images, subfolders included. Needed.", show_default=False)
    ] = None
    error_types: Annotated[str, Parameter(help="Which errors, joined by commas.")] = (
        "model_failure,spurious_correlation"
    )
    limit: Annotated[int, Parameter(help="At most so many errors, the most severe first; 0: all.")] = 0
    right_answers: Annotated[int, Parameter(help="So many right answers beside them, to compare with.")] = 0
    also: Annotated[
        tuple[str, ...],
        Parameter(help="Another model to ask too. May be given several times.", show_default=False, negative=()),
    ] = ()
    ensemble: Annotated[
        tuple[str, ...],
        Parameter(
            help="Explain the mean of the model and these instead.",
            show_default=False,
            negative=(),
            consume_multiple=True,
        ),
    ] = ()
    input_dropout: Annotated[float, Parameter(help="Share of pixels that the model is shown; 1: all.")] = 1.0
    ratings: Annotated[
        Path | None, Parameter(help="Fit heads to people's ratings: raters.npz, or CSV of file_name,rater,rating.")
    ] = None

    def choice(self) -> ErrorChoice:
        """Return what the library takes."""
        from imagenet_errors.explain.questions import ErrorChoice

        return ErrorChoice(tuple(self.error_types.replace(" ", "").split(",")), self.limit, self.right_answers)


@Parameter(name="*", group=EXPLAINING)
@dataclass(frozen=True, kw_only=True)
class Explaining:
    """How to explain."""

    method: Annotated[str, Parameter(help="locate, sis, maps or stability.")] = "locate"
    grid: Annotated[int, Parameter(help="Cells a side (locate).")] = 8
    baseline: Annotated[str, Parameter(help="What hidden parts become: blur or mean (locate).")] = "blur"
    cells_tried: Annotated[
        int,
        Parameter(help="Cells tried at each step, the most promising of the step before; 0: all (locate)."),
    ] = 8
    pixels_per_step: Annotated[int, Parameter(help="Pixels hidden at a step (sis).")] = 100
    threshold: Annotated[float, Parameter(help="Share of its probability that the answer must keep (sis).")] = 0.9
    absolute: Annotated[bool, Parameter(help="The threshold is a probability, no share (sis).", negative=())] = False
    export: Annotated[Path | None, Parameter(help="Folder for pictures of the pixels kept, to predict with (sis).")] = (
        None
    )
    boxes: Annotated[Path | None, Parameter(help="CSV of file_name,x0,y0,x1,y1: ask about the crop (stability).")] = (
        None
    )
    compile: Annotated[
        bool, Parameter(help="Let torch compile the network first: minutes that many answers win back.", negative=())
    ] = False
    seed: Annotated[int, Parameter(help="Seed of everything random.")] = 0

    def chosen(self) -> Method:
        """Return what the library takes.

        Raises
        ------
        InputError
            There is no such method.
        """
        from imagenet_errors.explain.ask import METHODS
        from imagenet_errors.explain.locate import Locate
        from imagenet_errors.explain.maps import Maps
        from imagenet_errors.explain.stability import Stability
        from imagenet_errors.explain.sufficiency import SufficientSubsets

        if self.method == "locate":
            return Locate(self.grid, self.baseline, n_tried=self.cells_tried, seed=self.seed)
        if self.method == "sis":
            return SufficientSubsets(
                self.pixels_per_step,
                threshold=self.threshold,
                relative=not self.absolute,
                seed=self.seed,
                export=self.export,
            )
        if self.method == "maps":
            return Maps(seed=self.seed)
        if self.method == "stability":
            return Stability(seed=self.seed, boxes=self.boxes)
        raise InputError("--method", f"no method {self.method!r}", fix=f"Known: {', '.join(METHODS)}.")


_ALL_SEVERE, _LOCATING = Asking(), Explaining()


def explain(
    run_dir: options.RunDir,
    /,
    *,
    asking: Asking = _ALL_SEVERE,
    explaining: Explaining = _LOCATING,
    computing: Computing = predicting.BY_DEFAULT,
    engine: Annotated[str, Parameter(help="local, or ray: a task a few answers.", group=COMPUTING)] = "local",
    ray_address: Annotated[
        str, Parameter(help="A running cluster; by default RAY_ADDRESS, else this machine.", group=COMPUTING)
    ] = "",
    out: options.Out = None,
) -> int:
    """Explain a model's severe errors: which part of the picture turns the answer, and would it turn to anything?"""
    from imagenet_errors.explain.ask import ExplainRequest, explain
    from imagenet_errors.explain.section import summarised

    if not asking.model:
        raise InputError("--model", "is needed", fix="Name a timm model, or MODEL=CHECKPOINT.")
    request = ExplainRequest(
        run=run_dir,
        model=asking.model,
        images=needed(asking.images, "--images", "the folder of images"),
        method=explaining.chosen(),
        choice=asking.choice(),
        also=asking.also,
        members=asking.ensemble,
        input_dropout=asking.input_dropout,
        compiled=explaining.compile,
        run_model=asking.run_model,
        out=out,
        settings=computing.settings(),
    )
    if asking.ratings is not None:
        return _rate(request, asking.ratings)
    chosen = engine_named(engine, **({"address": ray_address} if engine == "ray" else {}))
    made = explain(request, engine=chosen, tell=predicting.outcome_line)
    told = summarised(made.table.to_pylist(), method=request.method.name)
    console().print(told.first_line, soft_wrap=True)
    if told.left_out:
        remark(told.left_out)
    console().print(f"Written to {made.path}", soft_wrap=True, markup=False)
    for failure in made.failures:
        remark(failure)
    return SOME_FAILED if made.failures else 0


def _rate(request: ExplainRequest, ratings: Path) -> int:
    from imagenet_errors.explain.ask import explain_ratings

    study = explain_ratings(request, ratings, n_maps=20)
    console().print(f"Noise ceiling {study.heads.ceiling:.3f}, {study.heads.n_items:,} items", soft_wrap=True)
    for row in study.heads.rows:
        console().print(
            f"{row['model']}, {row['head']}: r {row['r']:.3f}, {row['share_of_ceiling']:.0%} of the ceiling"
        )
    console().print(f"Written to {study.path}", soft_wrap=True, markup=False)
    return 0
