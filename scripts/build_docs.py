"""Write the pages of the documentation that are made from the program itself, or check that they are up to date.

    python scripts/build_docs.py [--check]

docs/formats.md from the schemas, docs/commands.md from the help of every command, docs/demo.svg from the shipped
predictions. What a column means is told here; a column without a meaning, or a meaning without a column, is an error.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

import pyarrow as pa
from cyclopts import App, Argument

import imagenet_errors as ie
from imagenet_errors.cli import COMMANDS, program
from imagenet_errors.evidence.oov import OOV_SCHEMA
from imagenet_errors.export.comma_separated import SCHEMA as EXPORTED
from imagenet_errors.predict.table import SCHEMA as PREDICTIONS
from imagenet_errors.report.looks import looks
from imagenet_errors.runs import directory
from imagenet_errors.runs.manifest import LAYOUT, Manifest
from imagenet_errors.runs.model_facts import FACTS
from imagenet_errors.study.agreement_files import CASES

TOP = Path(__file__).resolve().parents[1]
DOCS = TOP / "docs"
MADE_BY = "<!-- Made by scripts/build_docs.py; change that, not this. -->\n"
LEAVES = (
    *(name for name in COMMANDS if name != "data"),
    *("evidence merge", "evidence plan", "superclasses propose"),
    *("data list", "data fetch", "data path"),
)
MEANING = {
    "file_name": "the image",
    "model": "the model's name: the stem of its file, or its column's header",
    "target": "the original label: class index",
    "prediction": "the predicted class: class index",
    "target_name": "the original label's name",
    "prediction_name": "the predicted class's name",
    "confidence": "in 0..1; null where the file gives none",
    "accepted": "all accepted labels: class indices",
    "accepted_names": "their names",
    "error_type": "one of the error types; `correct` where there is no error",
    "explanation": "one sentence that says why; null where the prediction is correct",
    "wordnet_steps": "of a model failure, the steps in WordNet to the nearest accepted label; else null",
    "group": "`all`, `organism`, `artifact` or `other`: an image is in each group of its accepted labels",
    "count": "images of this type; null where the stage did not run",
    "count_min": "at least so many, whatever missing evidence says",
    "count_max": "at most so many",
    "portion_of_top1_errors": "share in 0..1 of all errors; null where undefined or not run",
    "portion_of_multi_label_errors": "share in 0..1 of the errors of types 3 to 7",
    "n_images": "annotated images that the model predicted",
    "n_evaluated": "of these, evaluated",
    "n_excluded": "of these, excluded: problematic, without an accepted label, or with a rejected label",
    "top1_accuracy": "share in 0..1 of the evaluated images predicted as labelled",
    "mla": "multi-label accuracy: right is `correct`, `class_overlap`, `multi_object`; the mean over original classes",
    "mla_minor": "the same, fine-grained errors (also OOV) forgiven",
    "mla_explained": "the same, everything but `model_failure` forgiven",
    "accepted_accuracy": "share of all images with accepted labels whose prediction is accepted (ReaL accuracy)",
    "top1_accuracy_all": "top-1 over every image of the data set that has a label and a prediction",
    "n_without_oov_evidence": "errors that asked for out-of-vocabulary evidence and had none",
    "n_outside_classes": "predictions of classes that the data set does not have",
    "arch": "architecture, by the model's name",
    "arch_group": "its group: ResNet, ViT, ...",
    "arch_family": "`cnn`, `transformer`, `hybrid` or `mlp`",
    "n_parameters": "number of parameters, where `predict` counted them",
    "training_data": "largest data set that it learnt from, by the tag in its name",
    "n_training_images": "images in it",
    "pretraining": "methods: supervised, CLIP, self-supervised, ...",
    "weights_sha256": "hash of the weights, where `predict` loaded them",
    "file": "its file",
    "reason": "why it could not be used, and the way out",
    "predicted_class": "class index; null where the outputs are invalid",
    "predicted_probability": "softmax of that class",
    "top5_classes": "the five most likely classes",
    "top5_probabilities": "their probabilities",
    "is_oov": "whether the image shows something outside the classes that is kin to the prediction",
    "neighbour_support": "how many of the 10 nearest images share a superclass with the prediction",
    "proposal_count": "how many names WordNet proposes",
    "best_synset": "the synset of the name that CLIP finds most like the image",
    "best_name": "that name",
    "best_score": "its softmax share among the proposals",
    "top_proposals": "the best few names with their shares",
    "encoder": "the CLIP model and its weights",
    "neighbour_classes": "classes of the 10 nearest images, nearest first",
    "neighbour_is_kin": "which of them share a superclass with the prediction",
    "pool": "where neighbours were looked for",
    "human_error_type": "the panel's category as one of our types",
    "human_category": "the panel's category as written",
    "severity": "the panel's severity",
    "agrees": "whether both say the same",
    "lacks_oov_evidence": "whether the answer hangs on missing evidence",
    "kind_of_difference": "what kind of difference it is",
    "panels_stage_says": "what our stage of the panel's type says of the case",
}
TABLES: tuple[tuple[str, str, pa.Schema], ...] = (
    ("verdicts/MODEL.parquet", "A row for each evaluated image.", directory.VERDICTS),
    ("distribution.parquet", "A row for each model, group and error type.", directory.DISTRIBUTION),
    (
        "summary.parquet",
        "A row a model. The last eight columns are there if anything is known of any model.",
        pa.schema([*directory.SUMMARY, *FACTS]),
    ),
    ("accuracy.parquet", "A row for each model and group.", directory.ACCURACY),
    ("failures.parquet", "A row for each model that could not be used; only if there are any.", directory.FAILURES),
)
OTHERS: tuple[tuple[str, str, pa.Schema], ...] = (
    ("Predictions (`predict`, `batch`)", "A row an image; the metadata say how it was made.", PREDICTIONS),
    ("Out-of-vocabulary evidence (`evidence`)", "A row for each image and prediction. Needed are the first three.",
     OOV_SCHEMA),
    ("Agreement (`agreement`): cases.parquet", "A row for each mistake that the panel judged.", CASES),
    ("`export --to csv`: verdicts.csv", "A row a verdict.", EXPORTED),
)  # fmt: skip
RUN_JSON = {
    "layout": "number of this layout; readers refuse a later one",
    "version": "of imagenet-errors",
    "command": "the command line, if there was one",
    "finished": "when, UTC",
    "annotations": "name, or absolute path",
    "label_set": "what the labels that counted are called, where the data set has several",
    "rejected_labels": "what became of images whose label no annotator accepts",
    "dataset": "the data set",
    "classes": "own classes, if they were given",
    "class_rule": "what the models chose from, in words",
    "masked_models": "models that chose among the classes that occur alone",
    "more_annotations": "further annotations",
    "combine": "how several were combined",
    "min_label_probability": "from which probability on a label is accepted",
    "labels_from": "where original labels came from",
    "n_annotated": "annotated images",
    "n_evaluated": "of these, evaluated",
    "n_excluded": "of these, excluded",
    "excluded": "reason -> images",
    "n_distinct_cases": "distinct (image, wrong prediction) pairs",
    "stage_order": "the stages as they were asked",
    "requested_stage_order": "the stages as they were asked for",
    "stages_not_run": "stage -> why it did not run",
    "evidence": "option -> file",
    "evidence_notes": "option -> what its source has to say",
    "inputs": "every file that was read: place, bytes, sha256",
    "judged_by": "files of labels and evidence: address, commit and licence where they are published",
    "models": "model -> what became of its file's rows",
    "failures": "models that could not be used",
}


def formats_page() -> str:
    """Return the page on files: each table with its columns, types and meanings."""
    meant = {name for *_, schema in (*TABLES, *OTHERS) for name in schema.names}
    if set(MEANING) != meant or set(RUN_JSON) != set(Manifest.__struct_fields__):
        sys.exit(f"build_docs.py: tell what these mean, or drop them: {sorted(meant ^ set(MEANING))}"
                 f" {sorted(set(RUN_JSON) ^ set(Manifest.__struct_fields__))}")  # fmt: skip
    return "\n".join([MADE_BY, *_formats_lines()]) + "\n"


def _formats_lines() -> Iterator[str]:
    yield "# Files that are written\n"
    yield (
        "`evaluate --out DIR` writes a folder: Parquet tables and `run.json`, which comes last, so a folder that has "
        "it is whole. Accuracies and portions are shares in 0..1. **Null, never 0, where a stage did not run.** More "
        "columns may follow; read by name.\n"
    )
    for name, what, schema in TABLES:
        yield from _table(f"`{name}`", what, schema)
    yield "## `run.json`\n"
    yield f"One object, layout {LAYOUT}: enough to make the run again, and to see what was skipped and why.\n"
    yield "| key | what |\n| --- | --- |"
    yield from (f"| `{name}` | {RUN_JSON[name]} |" for name in Manifest.__struct_fields__)
    yield "\n# Other files\n"
    for name, what, schema in OTHERS:
        yield from _table(name, what, schema)
    yield "# JSON on standard output\n"
    yield (
        "`evaluate --json`, `compare --json`, `check --json`, `summary --format json` print one object each with its "
        "`layout`, which is raised when a reader must know."
    )


def _table(name: str, what: str, schema: pa.Schema) -> Iterator[str]:
    yield f"## {name}\n\n{what}\n"
    yield "| column | type | what |\n| --- | --- | --- |"
    for field in schema:
        yield f"| `{field.name}` | {_type(field.type)} | {MEANING[field.name]} |"
    yield ""


def _type(kind: pa.DataType) -> str:
    """Return an Arrow type as people write it."""
    if pa.types.is_dictionary(kind):
        return f"dictionary of {kind.value_type}"
    if pa.types.is_list(kind):
        return f"list of {_type(kind.value_type)}"
    if pa.types.is_struct(kind):
        return " + ".join(kind.field(place).name for place in range(kind.num_fields))
    return str(kind)


def commands_page() -> str:
    """Return the page with every command and its options."""
    return "\n".join([MADE_BY, *_commands_lines()]) + "\n"


def _commands_lines() -> Iterator[str]:
    yield "# Commands\n"
    yield (
        "`imagenet-errors COMMAND`; `--help` after any of them shows the same. `--quiet`, anywhere, leaves out remarks "
        "and progress; commands that write files then print only what failed.\n"
    )
    yield (
        "**Exit status.** 0: done. 1: some models or images could not be used; the rest was done. 2: bad input or "
        "usage; nothing was written. 3: a `check` failed. 130, 143: interrupted.\n"
    )
    for name in LEAVES:
        command = program(name.split())
        for word in name.split():
            command = command[word]
        yield f"## imagenet-errors {name}\n"
        yield f"{command.help}\n"
        example = (command.help_epilogue or "").partition("\n")[0].removeprefix("Example: ")
        yield f"    {example}\n"
        yield "| option | what |\n| --- | --- |"
        yield from _options(command)
        yield ""


def _options(command: App) -> Iterator[str]:
    """Return a row an argument: its names, its help, its default where it has one."""
    for argument in command.assemble_argument_collection():
        if argument.parse and argument.show:
            names = ", ".join(f"`{name}`" for name in argument.names)
            help_text = (argument.parameter.help or "").replace("|", "\\|").replace("[", "\\[")
            yield f"| {names} | {help_text}{_default(argument) if argument.show_default else ''} |"


def _default(argument: Argument) -> str:
    default = argument.field_info.default
    if isinstance(default, bool):
        return " On by default." if default else ""
    if not isinstance(default, str | int | float | tuple) or default in ("", ()):
        return ""
    return f" Default: `{' '.join(map(str, default)) if isinstance(default, tuple) else default}`."


_WIDTH, _ROW, _LEFT, _KEY_WIDTH = 760, 34, 170, 190


def picture() -> str:
    """Return the errors of the shipped models as bars, least severe on the left, as an SVG for light and dark pages."""
    run = ie.evaluate(TOP / "data" / "demo", allow_partial=True)
    counts = {(row["model"], row["error_type"]): row["count"] or 0 for row in run.distribution.to_pylist()
              if row["group"] == "all"}  # fmt: skip
    kinds = [
        look for look in looks() if look.name != "correct" and any(counts[model, look.name] for model in run.models)
    ]
    most = max(sum(counts[model, look.name] for look in kinds) for model in run.models)
    height = _ROW * (len(run.models) + 1 + (len(kinds) + 2) // 3) + 8
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
        'font-family="system-ui, sans-serif" font-size="13">',
        "<title>Top-1 errors of the three shipped models by error type, least severe on the left</title>",
        "<style>text { fill: #57606a } .on { fill: #000 } @media (prefers-color-scheme: dark) "
        "{ text { fill: #9198a1 } .on { fill: #000 } }</style>",
    ]
    for place, model in enumerate(run.models):
        y, x = _ROW * place + 4, float(_LEFT)
        lines.append(f'<text x="{_LEFT - 8}" y="{y + 19}" text-anchor="end">{escape(model)}</text>')
        for look in kinds:
            width = counts[model, look.name] / most * (_WIDTH - _LEFT - 60)
            lines.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="26" fill="{look.light}"/>')
            x += width
        total = sum(counts[model, look.name] for look in kinds)
        lines.append(f'<text x="{x + 6:.1f}" y="{y + 19}">{total}</text>')
    top = _ROW * len(run.models) + 24
    for place, look in enumerate(kinds):
        x, y = _LEFT + _KEY_WIDTH * (place % 3), top + 24 * (place // 3)
        lines.append(f'<rect x="{x}" y="{y}" width="14" height="14" fill="{look.light}"/>')
        lines.append(f'<text x="{x + 20}" y="{y + 12}">{look.name}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def main() -> None:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page would change")
    check = parser.parse_args().check
    stale = []
    for name, make in PAGES.items():
        path, new = DOCS / name, make()
        if check and (not path.is_file() or path.read_text(encoding="utf-8") != new):
            stale.append(name)
        elif not check:
            path.write_text(new, encoding="utf-8")
    if stale:
        sys.exit(f"{', '.join(stale)}: out of date. Run: python scripts/build_docs.py")


PAGES = {"formats.md": formats_page, "commands.md": commands_page, "demo.svg": picture}

if __name__ == "__main__":
    main()
