"""Write reports/datasets_*.md from the shared real files: what the error types say beyond the validation set.

    python scripts/study_datasets.py [v2] [objectnet] [imagenet-a] [labels] [quantisation] [cifar100]
        [--shared ../shared/data] [--runs runs/datasets]

Every study evaluates with the program's own functions into a run directory below --runs, and its page says the command
that makes the same run. Without names, all studies are made.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from imagenet_errors.chain import COUNTS_AS, ERROR_TYPES
from imagenet_errors.compare import compare
from imagenet_errors.evaluation import evaluate
from imagenet_errors.inputs import Inputs
from imagenet_errors.readers.predictions import ReadRules
from imagenet_errors.report.markdown import md_table, percent
from imagenet_errors.runs.tables import RunTables, load_run_tables

TOP = Path(__file__).resolve().parents[1]
REPORTS = TOP / "reports"
TYPES = ("class_overlap", "multi_object", "fine_grained", "spurious_correlation", "model_failure")
"""Those whose evidence the shared files have for every set."""
MULTI_LABEL = tuple(name for name in TYPES if COUNTS_AS[name] != "right")
NETS = ("AlexNet", "VGG", "GoogLeNet")
Z = 1.96
"""Two-sided 95 %."""


@dataclass(frozen=True)
class Studies:
    """Where files lie and runs go."""

    shared: Path
    runs: Path

    def data(self, *parts: str) -> Path:
        """Return a path below the shared data sets."""
        return self.shared.joinpath("datasets", *parts)

    def run(self, name: str, predictions: Sequence[Path], inputs: Inputs, *, check_order: bool = True) -> RunTables:
        """Evaluate into ``runs/NAME`` and read the run back."""
        evaluate(predictions, inputs, self.runs / name, rules=ReadRules(check_order=check_order))
        return load_run_tables(self.runs / name)

    @cached_property
    def expert_labels(self) -> str:
        """The expert multi-labels of the validation set, as a small table."""
        return str(self.data("val-labels", "multilabel.csv"))


def counts_of(run: RunTables) -> NDArray[np.int64]:
    """Return int64 [M, T]: how often each type occurs over all images."""
    return run.figures.counts[:, 0]


def shares_of(run: RunTables) -> NDArray[np.float64]:
    """Return float64 [M, 3]: of the multi-label errors of MULTI_LABEL's types, each type's share."""
    counts = counts_of(run)[:, [ERROR_TYPES.index(name) for name in MULTI_LABEL]].astype(np.float64)
    shares: NDArray[np.float64] = counts / counts.sum(axis=1, keepdims=True)
    return shares


def heading(title: str, command: str, *lines: str) -> list[str]:
    """Return a page's beginning, which says the commands that make it."""
    made = f"Made by `python scripts/study_datasets.py`. The same run by the program: `{command}`."
    return [f"# {title}", "", made, "", *lines]


def write(name: str, lines: Sequence[str]) -> None:
    """Write a page whole."""
    partial = REPORTS / f".{name}.md"
    partial.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    partial.replace(REPORTS / f"{name}.md")
    print(REPORTS / f"{name}.md")


# ImageNet-V2


def v2(studies: Studies) -> None:
    """Compare the validation set with ImageNet-V2, model by model."""
    published = studies.data("imagenet-v2", "as_published", "imagenetv2_refined_labels.json")
    table = studies.data("imagenet-v2", "matched-frequency", "top1_of_64_models.parquet")
    v2_inputs = Inputs(str(published), {}, rejected_labels="trust", dataset="imagenet-v2")
    new = studies.run("v2", [table], v2_inputs)
    many = studies.shared / "predictions_many"
    both = [name for name in new.models if (many / f"{name}.parquet").is_file()]
    val_inputs = Inputs(studies.expert_labels, {}, rejected_labels="trust")
    old = studies.run("val", [many / f"{name}.parquet" for name in both], val_inputs)
    rows = [new.models.index(name) for name in old.models]
    before, after = shares_of(old), shares_of(new)[rows]
    figure_of_shares(before, after)
    resnet = counts_of(new)[new.models.index("resnet50")]
    told = ", ".join(f"{resnet[ERROR_TYPES.index(name)]:,} {name}" for name in ("correct", *TYPES))
    excluded = new.manifest.excluded
    lines = heading(
        "The validation set and ImageNet-V2",
        "imagenet-errors evaluate top1_of_64_models.parquet --dataset imagenet-v2 --annotations "
        "imagenetv2_refined_labels.json --rejected-labels trust",
        f"{len(new.models)} models on ImageNet-V2 (matched-frequency, multi-labels of Multilabelfy), {len(both)}",
        "of them on the validation set, too (expert multi-labels). Rejected original labels are trusted in both, as in",
        "the first figures known; out-of-vocabulary evidence and the panel's list exist for neither here.",
        "",
        "![Share of each type among multi-label errors, val against V2](datasets_v2.svg)",
        "",
        "## Share of multi-label errors, mean over the models that both have",
        "",
    )
    lines.append(md_table(("type", "val", "V2", "difference", "correlation"), share_rows(before, after)))
    lines += [
        "",
        "## One model in full",
        "",
        f"`resnet50` on ImageNet-V2: {told};",
        f"excluded: {', '.join(f'{n:,} {reason}' for reason, n in excluded.items() if n)}.",
        "",
        "## All models on ImageNet-V2",
        "",
        model_table(new),
    ]
    write("datasets_v2", lines)


def share_rows(before: NDArray[np.float64], after: NDArray[np.float64]) -> Iterator[tuple[str, ...]]:
    """Yield a row a type: means, their difference with its interval over models, and the correlation."""
    for place, name in enumerate(MULTI_LABEL):
        old, new = before[:, place], after[:, place]
        gap = new - old
        half = Z * gap.std(ddof=1) / np.sqrt(len(gap))
        difference = f"{100 * gap.mean():+.1f} ({100 * (gap.mean() - half):+.1f} to {100 * (gap.mean() + half):+.1f})"
        r = float(np.corrcoef(old, new)[0, 1])
        yield name, percent(float(old.mean())), percent(float(new.mean())), difference, f"{r:.2f}"


def model_table(run: RunTables) -> str:
    """Return every model's counts and multi-label accuracy, the best first."""
    mla = run.figures.accuracies["mla"][:, 0]
    counts = counts_of(run)
    names = ("correct", *TYPES)
    rows = [
        (run.models[row], percent(float(mla[row])), *(f"{counts[row, ERROR_TYPES.index(name)]:,}" for name in names))
        for row in np.argsort(-mla)
    ]
    return md_table(("model", "MLA", *names), rows)


def figure_of_shares(before: NDArray[np.float64], after: NDArray[np.float64]) -> None:
    """Draw each model's share on V2 against that on the validation set, a panel a type."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from imagenet_errors.report.drawing import STYLE

    with mpl.rc_context({**STYLE, "svg.hashsalt": "imagenet-errors"}):
        figure = Figure(figsize=(9, 3.2), layout="constrained")
        for place, (axis, name) in enumerate(zip(figure.subplots(1, len(MULTI_LABEL)), MULTI_LABEL, strict=True)):
            old, new = 100 * before[:, place], 100 * after[:, place]
            ends = [min(old.min(), new.min()), max(old.max(), new.max())]
            axis.plot(ends, ends, color="0.7", linewidth=1)
            axis.scatter(old, new, s=10)
            axis.set(title=name, xlabel="validation set, % of errors", ylabel="ImageNet-V2, % of errors")
        figure.savefig(REPORTS / "datasets_v2.svg", metadata={"Date": None})


# ObjectNet


@dataclass(frozen=True, eq=False)
class Mended:
    """Of images that a net gets wrong whole: which are right when cropped, with what is controlled for."""

    is_spurious: NDArray[np.bool_]
    is_mended: NDArray[np.bool_]
    kind: NDArray[np.int64]
    """The object's class."""
    rank: NDArray[np.int64]
    """The place of the first right class among the whole image's best five; 5 for none."""

    def share(self, spurious: bool) -> float:
        """Return the share that cropping mends."""
        return float(self.is_mended[self.is_spurious == spurious].mean())

    def difference(self, strata: NDArray[np.int64]) -> tuple[float, float]:
        """Return how much oftener spurious errors are mended than failures within strata, and half its interval.

        Source: Mantel-Haenszel risk difference; variance: Sato 1989 (valid with many small strata).
        """
        n_strata = int(strata.max()) + 1
        n1, n0, y1, y0 = (
            np.bincount(strata[chosen], minlength=n_strata).astype(np.float64)
            for chosen in (
                self.is_spurious,
                ~self.is_spurious,
                self.is_spurious & self.is_mended,
                ~self.is_spurious & self.is_mended,
            )
        )
        total = np.maximum(n1 + n0, 1)
        weight = n1 * n0 / total
        estimate = float(((y1 * n0 - y0 * n1) / total).sum() / weight.sum())
        p = (n1**2 * y0 - n0**2 * y1 + n1 * n0 * (n0 - n1) / 2) / total**2
        q = (y1 * (n0 - y0) + y0 * (n1 - y1)) / (2 * total)
        return estimate, Z * float(np.sqrt(max(estimate * p.sum() + q.sum(), 0.0)) / weight.sum())


def objectnet(studies: Studies) -> None:
    """Ask whether cropping to the object mends spurious errors more than failures."""
    path = studies.data("objectnet", "top5.parquet")
    run = studies.run("objectnet", [path], Inputs(str(path), {}, dataset="objectnet"))
    table = pq.ParquetFile(path).read()
    top1 = [
        (name, f"{share:.2%}")
        for name, share in zip(run.models, run.figures.accuracies["top1_accuracy"][:, 0], strict=True)
    ]
    rows: list[tuple[str, ...]] = []
    left = []
    for net in NETS:
        for cropped in ("box", "Crop"):
            found = mended(run, table, net, cropped)
            raw = found.difference(np.zeros(len(found.kind), dtype=np.int64))
            by_rank = found.difference(found.rank)
            both = found.difference(found.kind * 6 + found.rank)
            left.append(both[0])
            shares = (percent(found.share(True)), percent(found.share(False)))
            rows.append((f"{net}-{cropped}", f"{len(found.kind):,}", *shares, *map(points, (raw, by_rank, both))))
    lines = heading(
        "ObjectNet: does cropping to the object mend spurious correlations?",
        "imagenet-errors evaluate top5.parquet --dataset objectnet --annotations top5.parquet",
        "If an error by `spurious_correlation` came from the surroundings, cropping the same image to its object",
        "should mend it more often than a `model_failure`. Of each net's errors on whole images, the share that is",
        "right on the object's box (`box`) and on another crop (`Crop`); then the difference in points, with 95 %",
        "intervals: as it is, among images whose right class stands at the same place of the best five, and of the",
        "same object's class, too (Mantel-Haenszel; Sato 1989).",
        "",
    )
    header = ("pair", "errors", "spurious mended", "failures mended", "difference", "same rank", "same class and rank")
    low, high = min(left), max(left)
    lines += [
        md_table(header, rows),
        "",
        f"Controlled for class and rank, {100 * low:+.1f} to {100 * high:+.1f} points remain, above 0 in "
        f"{sum(one > 0 for one in left)} of {len(left)} pairs: where a right class",
        "stands second, a crop need only lift it by one place, whatever the error is called.",
    ]
    lines += ["", "## Top-1, any accepted class is right", "", md_table(("model", "top-1"), top1)]
    write("datasets_objectnet", lines)


def points(bounded: tuple[float, float]) -> str:
    """Return ``+3.1 (+1.0 to +5.2)`` in percentage points."""
    value, half = bounded
    return f"{100 * value:+.1f} ({100 * (value - half):+.1f} to {100 * (value + half):+.1f})"


def mended(run: RunTables, table: pa.Table, net: str, cropped: str) -> Mended:
    """Return one net's spurious errors and failures on whole images, and what became of them."""
    whole, other = (run.models.index(f"{net}-{part}") for part in ("Full", cropped))
    place = pc.index_in(run.file_names, value_set=table["file_name"].combine_chunks().cast(pa.string())).to_numpy()
    types = run.error_type[whole]
    spurious, failure = (ERROR_TYPES.index(name) for name in ("spurious_correlation", "model_failure"))
    wrong = np.flatnonzero((types == spurious) | (types == failure))
    accepted = table["accepted"].to_pylist()
    ranked = table[f"{net}-Full"].to_pylist()
    rank = [next((n for n, one in enumerate(ranked[row]) if one in accepted[row]), 5) for row in place[wrong]]
    kinds = table["objectnet_class"].combine_chunks().dictionary_encode().indices.to_numpy()
    return Mended(
        types[wrong] == spurious,
        run.error_type[other][wrong] == 0,
        kinds[place[wrong]].astype(np.int64),
        np.array(rank),
    )


# ImageNet-A, label files, MLPerf, CIFAR-100


def imagenet_a(studies: Studies) -> None:
    """Evaluate the two adversaries, and set the published statistics of 962 models beside them."""
    from imagenet_errors.report.points import published_points

    path = studies.data("imagenet-a", "imagenet-a_images.csv")
    run = studies.run("imagenet-a", [path], Inputs(dataset="imagenet-a"))
    sizes = run.figures.counts[0].sum(axis=1)
    groups = ", ".join(f"{group} {n:,}" for group, n in zip(run.figures.groups, sizes.tolist(), strict=True))
    shares = shares_of(run)
    folder = studies.runs / "stats-a"
    folder.mkdir(parents=True, exist_ok=True)
    for group in ("all", "organism", "artifact", "other"):
        source = studies.shared / "published" / f"stats_imagenet-a_{group}.csv"
        (folder / f"non_problematic_stats_{group}.csv").write_bytes(source.read_bytes())
    published = published_points(folder)
    known = [float(np.nanmean(published.portions(name, among="multi_label"))) / 100 for name in MULTI_LABEL]
    rows = [
        (name, *(percent(float(one)) for one in shares[:, place]), percent(known[place]))
        for place, name in enumerate(MULTI_LABEL)
    ]
    lines = heading(
        "ImageNet-A: the adversaries' own errors",
        "imagenet-errors evaluate imagenet-a_images.csv --dataset imagenet-a",
        "The file names the predictions of the two nets that the images were chosen against, so every prediction is",
        f"wrong. Groups: {groups}.",
        "",
        "Share of multi-label errors, beside the mean of the 962 published models (which have out-of-vocabulary",
        "evidence too: their other shares are lower for it).",
        "",
    )
    write("datasets_imagenet_a", [*lines, md_table(("type", *run.models, "published"), rows)])


def labels(studies: Studies) -> None:
    """Judge the same predictions by every label file, alone and joined."""
    predictions = [studies.shared / "predictions" / "ResNet50.csv"]
    official = studies.shared / "annotations" / "human_accuracy_v3.0.0_labels_only.json"
    own = studies.data("val-labels")
    files = [
        official,
        *(own / f"{name}.csv" for name in ("multilabel", "finegrained", "label_errors", "clean_validation")),
    ]
    runs = {path.name: studies.run(f"labels/{path.stem}", predictions, Inputs(str(path), {})) for path in files}
    first, second = (runs[path.name] for path in files[:2])
    same = first.file_names.equals(second.file_names) and np.array_equal(first.error_type[0], second.error_type[0])
    rows = [
        label_row(name, run)
        for name, run in {**runs, "real": studies.run("labels/real", predictions, Inputs())}.items()
    ]
    joined: dict[str, RunTables] = {}
    for how in ("union", "intersection"):
        inputs = Inputs(studies.expert_labels, {}, more_annotations=("real",), combine=how)
        joined[how] = studies.run(f"labels/{how}", predictions, inputs)
        rows.append(label_row(f"{how} of multilabel.csv and real", joined[how]))
    lines = heading(
        "One model by every label file",
        "imagenet-errors evaluate ResNet50.csv --annotations FILE",
        "ResNet-50's errors by label files as they are published. `multilabel.csv` gives the verdicts of the official",
        f"JSON file on {'all' if same else 'NOT all'} {len(first.file_names):,} images.",
        "",
    )
    header = ("labels", "images", "top-1", "MLA", "errors", *(f"{name}, of errors" for name in TYPES))
    lines += [
        md_table(header, rows),
        "",
        "## How verdicts differ",
        "",
        differing(joined["union"], joined["intersection"]),
    ]
    write("datasets_labels", lines)


def label_row(name: str, run: RunTables) -> tuple[str, ...]:
    """Return a run's first model as a row."""
    counts = counts_of(run)[0]
    errors = int(counts[1:].sum())
    figures = (run.figures.accuracies[key][0, 0] for key in ("top1_accuracy", "mla"))
    parts = (counts[ERROR_TYPES.index(kind)] / errors for kind in TYPES)
    return (
        name,
        f"{counts.sum():,}",
        *(percent(float(x)) for x in figures),
        f"{errors:,}",
        *(percent(float(x)) for x in parts),
    )


def differing(union: RunTables, intersection: RunTables) -> str:
    """Return verdicts by the union (rows) against those by the intersection of two label sets, same images."""
    place = pc.fill_null(pc.index_in(union.file_names, value_set=intersection.file_names), -1).to_numpy(
        zero_copy_only=False
    )
    rows = np.flatnonzero(place >= 0)
    table = np.zeros((len(ERROR_TYPES), len(ERROR_TYPES)), dtype=np.int64)
    np.add.at(table, (union.error_type[0][rows], intersection.error_type[0][place[rows]]), 1)
    shown = [place for place, name in enumerate(ERROR_TYPES) if name in ("correct", *TYPES)]
    body = [(ERROR_TYPES[row], *(f"{table[row, column]:,}" for column in shown)) for row in shown]
    return md_table(("union, down; intersection, across", *(ERROR_TYPES[column] for column in shown)), body)


def quantisation(studies: Studies) -> None:
    """Compare int8 with float32 runs of the same MLPerf network."""
    path = studies.data("mlperf-v0.5", "top1.parquet")
    run = studies.run("mlperf", [path], Inputs(studies.expert_labels, {}))
    rows = [
        quantised_row(studies.runs / "mlperf", original, model)
        for net, original in REFERENCES.items()
        for model in run.models
        if net in model.rpartition("_")[2] and model != original
    ]
    lines = heading(
        "Quantisation changes which images fail, hardly how badly",
        "imagenet-errors compare runs/mlperf:FP32 runs/mlperf:INT8",
        "MLPerf inference v0.5: accuracy logs of the same weights in many implementations, most in 8-bit integers,",
        f"beside a float32 one ({', '.join(REFERENCES.values())}). Expert multi-labels; on the images that both",
        "evaluate: how many top-1 classes changed, how the multi-label accuracy (MLA) moved, and how many images only",
        "one of both fails severely on, with the exact McNemar test. MLA and the share of failures among multi-label",
        "errors are differences in points. A MobileNet that differs in many images may rest on other weights.",
        "",
    )
    header = (
        "submission",
        "top-1 changed",
        "MLA, points",
        "failures, points of errors",
        "severe only before",
        "only after",
        "p",
    )
    write("datasets_quantisation", [*lines, md_table(header, rows)])


REFERENCES = {
    "resnet": "closed_dividiti_results_firefly-armnn-v19.08-neon_resnet",
    "mobilenet": "closed_dividiti_results_firefly-armnn-v19.08-neon_mobilenet",
}
"""Float32 submissions, the most often repeated bit by bit (16 and 4 other logs are identical)."""


def quantised_row(run: Path, original: str, model: str) -> tuple[str, ...]:
    """Return one comparison as a row."""
    found = compare((run, original), (run, model))
    mla = [float(side.rates["all"]["mla"] or np.nan) for side in (found.first, found.second)]
    parts = []
    for side in (found.first, found.second):
        known = {name: side.counts[name] or 0 for name in MULTI_LABEL}
        parts.append(known["model_failure"] / sum(known.values()))
    severe = found.severe
    return (
        model.removeprefix("closed_").replace("_results", ""),
        percent(found.n_changed_predictions / found.n_common),
        f"{100 * (mla[1] - mla[0]):+.2f}",
        f"{100 * (parts[1] - parts[0]):+.1f}",
        f"{severe.only_first:,}",
        f"{severe.only_second:,}",
        f"{severe.p_value:.2g}",
    )


def cifar100(studies: Studies) -> None:
    """Run the whole chain on classes that are not ImageNet's."""
    folder = studies.data("cifar100")
    own = TOP / "docs" / "cifar100" / "cifar100.toml"
    inputs = Inputs(str(folder / "mturk.csv"), {}, dataset=str(own), more_annotations=(str(folder / "labels.csv"),))
    run = studies.run("cifar100", [folder / "predictions.csv"], inputs)
    counts = run.figures.counts[0]
    rows = [
        (name, *(f"{counts[group, ERROR_TYPES.index(name)]:,}" for group in range(len(run.figures.groups))))
        for name in ("correct", *TYPES)
        if run.figures.ran[ERROR_TYPES.index(name)]
    ]
    lines = heading(
        "CIFAR-100: classes of one's own",
        "imagenet-errors evaluate predictions.csv --dataset docs/cifar100/cifar100.toml --annotations mturk.csv "
        "--annotations labels.csv",
        "A cross-validated model's predictions of 10,000 test images. Accepted labels: MTurk's answers, weight at",
        "least 0.5, and the label where nobody was asked; superclasses: the data set's 20 coarse classes;",
        "co-occurrence: from the accepted labels themselves, an image never supporting its own error.",
        "",
    )
    notes = [f"- {note}" for told in run.manifest.evidence_notes.values() for note in told]
    notes += [f"- `{name}` did not run: {reason}." for name, reason in run.manifest.stages_not_run.items()]
    write("datasets_cifar100", [*lines, md_table(("type", *run.figures.groups), rows), "", *notes])


STUDIES: dict[str, Callable[[Studies], None]] = {
    "v2": v2,
    "objectnet": objectnet,
    "imagenet-a": imagenet_a,
    "labels": labels,
    "quantisation": quantisation,
    "cifar100": cifar100,
}


def main() -> None:
    """Make the studies that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs="*", metavar="STUDY", help=f"some of {', '.join(STUDIES)}")
    parser.add_argument(
        "--shared", type=Path, default=TOP.parent / "shared" / "data", help="folder of the shared files"
    )
    parser.add_argument("--runs", type=Path, default=Path("runs/datasets"), help="where the runs go")
    arguments = parser.parse_args()
    places = Studies(arguments.shared.resolve(), arguments.runs)
    for name in arguments.studies or STUDIES:
        STUDIES[name](places)


if __name__ == "__main__":
    main()
