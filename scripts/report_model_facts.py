"""Write reports/model_facts.md: how far our rules for timm's names agree with the published table of 863 models.

    python scripts/report_model_facts.py --published models_summary.csv --out reports/model_facts.md

``models_summary.csv`` is of github.com/eth-sri/automated-error-analysis (Peychev et al., NeurIPS 2023). The rules of
data/model_facts.toml were written with that table at hand, so agreement says that rules suffice, not that they
would have been guessed; for models beyond it the page says how many a rule knows (with timm installed).
"""

from __future__ import annotations

import argparse
import ast
import csv
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from imagenet_errors.runs.model_facts import ModelFacts, facts_of

METHODS = {
    "Distillation": "distillation",
    "Self-Supervised Learning": "self-supervised",
    "CLIP Training": "CLIP",
    "Adversarial Training": "adversarial",
    "Semi-Supervised Learning": "semi-supervised",
}
"""The published table's words for pretraining and ours; an empty list there is ``supervised`` here."""

COLUMNS: dict[str, Callable[[ModelFacts], object]] = {
    "arch": lambda facts: facts.arch,
    "arch_group": lambda facts: facts.arch_group,
    "arch_family": lambda facts: facts.arch_family,
    "dataset": lambda facts: facts.training_data,
    "extra_annotations": lambda facts: set(facts.pretraining),
}


def published_value(column: str, row: dict[str, str]) -> object:
    """Return what the published table says, in our words."""
    if column != "extra_annotations":
        return row[column]
    return {METHODS[name] for name in ast.literal_eval(row[column])} or {"supervised"}


def agreement(rows: Sequence[dict[str, str]]) -> list[str]:
    """Return the lines of the table: a column, how many agree, the first that does not."""
    lines = ["| column | agree | of | share | first that differs |", "| --- | ---: | ---: | ---: | --- |"]
    for column, ours in COLUMNS.items():
        differ = [row["model_id"] for row in rows if ours(facts_of(row["model_id"])) != published_value(column, row)]
        n_same = len(rows) - len(differ)
        first = differ[0] if differ else "–"
        lines.append(f"| {column} | {n_same} | {len(rows)} | {n_same / len(rows):.1%} | {first} |")
    return lines


def coverage() -> str:
    """Return a sentence on the models that the installed timm has beyond the published ones."""
    try:
        import timm
    except ModuleNotFoundError:
        return "timm is not installed here, so models beyond the table were not counted."
    names = [name for name in timm.list_pretrained() if "in1k" in name]
    n_built = sum(facts_of(name).arch is not None for name in names)
    n_trained = sum(facts_of(name).training_data is not None for name in names)
    return (
        f"timm {timm.__version__} has {len(names):,} sets of weights whose tag names ImageNet-1k: a rule knows the "
        f"architecture of {n_built:,} and the training data of {n_trained:,}."
    )


def main() -> None:
    """Compare and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--published", type=Path, required=True, help="the published models_summary.csv")
    parser.add_argument("--out", type=Path, help="Markdown page to write")
    arguments = parser.parse_args()
    with arguments.published.open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["source"] == "timm"]
    command = " ".join(Path(part).name if "/" in part else part for part in sys.argv)
    page = "\n".join(
        [
            "# Facts about timm's models, by rules",
            "",
            f"Made by `python {command}`.",
            f"The rules (`data/model_facts.toml`) against the {len(rows)} timm models of the published table of",
            "Peychev et al., NeurIPS 2023. The rules were written with the table at hand.",
            "",
            *agreement(rows),
            "",
            coverage(),
            "",
        ]
    )
    print(page)
    if arguments.out:
        partial = arguments.out.with_name(f".{arguments.out.name}")
        partial.write_text(page, encoding="utf-8")
        partial.replace(arguments.out)


if __name__ == "__main__":
    main()
