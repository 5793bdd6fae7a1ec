"""Compare a relation of superclasses with what is published of the method's own.

    python scripts/measure_superclasses.py --published ../shared/data/published [--superclasses FOLDER|FILE] [--details]

Four comparisons: pairs of classes that do or do not share a superclass; the number of label proposals of single
cases, and the five best, which depend on the superclasses of the predicted class; the fine-grained counts of eight
models, whose predictions and annotations lie beside the published folder; and the sizes of the superclasses.

Source: Peychev et al., NeurIPS 2023, and the outputs of their program (eth-sri/automated-error-analysis).
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from imagenet_errors.evidence.superclasses import Superclasses, load_superclasses
from imagenet_errors.labels import GROUPS, imagenet_1k
from imagenet_errors.oov.proposals import Proposer
from imagenet_errors.problems import InputError
from imagenet_errors.report.superclasses import shape_rows
from imagenet_errors.wordnet import load_wordnet
from superclass_facts import SAME_WEIGHTS, published_counts, read_confusions, rows_of


@dataclass(frozen=True)
class Agreement:
    """How many of n questions came out as published, and those that did not, each in words."""

    n: int
    differing: tuple[str, ...]

    @property
    def share(self) -> float:
        """The share that came out as published, 0..1."""
        return 1 - len(self.differing) / self.n


def pair_agreement(superclasses: Superclasses, published: Path) -> dict[str, Agreement]:
    """Compare pairs that share a superclass and pairs that do not (``superclass_pairs.csv``)."""
    names = imagenet_1k().names
    rows = list(rows_of(published / "superclass_pairs.csv"))
    agreements = {}
    for kind, written in (("share a superclass", "True"), ("share none", "False")):
        pairs = [(int(row["a"]), int(row["b"])) for row in rows if row["share_superclass"] == written]
        wrong = [pair for pair in pairs if superclasses.shares[pair] != (written == "True")]
        told = tuple(f"{a} {names[a]} – {b} {names[b]}" for a, b in wrong)
        agreements[kind] = Agreement(len(pairs), told)
    return agreements


def proposal_agreement(superclasses: Superclasses, published: Path) -> dict[str, Agreement]:
    """Compare all published numbers of proposals, and look for the single cases' five best among ours."""
    labels = imagenet_1k()
    proposer = Proposer(labels, load_wordnet(), superclasses.shares)
    rows = [row for row in rows_of(published / "published_cases.csv") if row["proposal_count"]]
    n_cases = len(rows)
    rows += rows_of(published / "oov_proposal_counts_more.csv")
    differ, fewer, missing = [], [], []
    for row in rows:
        prediction, target, wanted = (int(float(row[key])) for key in ("prediction", "target", "proposal_count"))
        names = proposer.names(prediction, target)
        case = (
            f"{prediction} {labels.names[prediction]} for {target} {labels.names[target]}: {len(names)}, not {wanted}"
        )
        best = {(f"n{offset:08d}", name) for offset, name, _ in json.loads(row.get("top_proposals") or "[]")}
        if len(names) != wanted:
            differ.append(case)
        if len(names) < wanted:
            fewer.append(case)
        if not best <= set(names):
            missing.append(f"{case}; {best - set(names)}")
    return {
        "as many proposals": Agreement(len(rows), tuple(differ)),
        "no fewer proposals": Agreement(len(rows), tuple(fewer)),
        "the five best among ours": Agreement(n_cases, tuple(missing)),
    }


@dataclass(frozen=True)
class Count:
    """Fine-grained errors of one model in one group, ours and published."""

    model: str
    group: str
    ours: int
    published: int

    @property
    def relative_error(self) -> float:
        """(ours - published) / published."""
        return (self.ours - self.published) / self.published


def fine_grained_counts(superclasses: Superclasses, published: Path) -> list[Count]:
    """Count the fine-grained errors of the models with published counts; correct, overlap, multi-object precede."""
    confusions = read_confusions(published, SAME_WEIGHTS)
    explained = np.array(
        [
            superclasses.shares[prediction, labels].any()
            for prediction, labels in zip(confusions.prediction, confusions.accepted, strict=True)
        ]
    )
    ours = (confusions.made & explained).astype(np.int64) @ confusions.in_group.T.astype(np.int64)
    theirs = published_counts(published)
    return [
        Count(model, group, int(ours[row, column]), int(theirs[row, column]))
        for row, model in enumerate(SAME_WEIGHTS)
        for column, group in enumerate(GROUPS)
    ]


def _print_agreements(title: str, agreements: dict[str, Agreement], *, details: bool) -> None:
    print(f"\n{title}")
    for what, agreement in agreements.items():
        n_alike = agreement.n - len(agreement.differing)
        print(f"  {what}: {n_alike:,} of {agreement.n:,} ({agreement.share:.2%})")
        for line in agreement.differing if details else ():
            print(f"    {line}")


def main(arguments: list[str] | None = None) -> int:
    """Print the four comparisons."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--published", type=Path, required=True, metavar="DIR", help="the published outputs")
    parser.add_argument("--superclasses", type=Path, help="a folder or file of superclasses (default: shipped)")
    parser.add_argument("--details", action="store_true", help="list every pair and case that differs")
    given = parser.parse_args(arguments)
    try:
        superclasses = load_superclasses(given.superclasses)
        _print_agreements("Pairs of classes", pair_agreement(superclasses, given.published), details=given.details)
        _print_agreements("Label proposals", proposal_agreement(superclasses, given.published), details=given.details)
        counts = fine_grained_counts(superclasses, given.published)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    print("\nFine-grained errors, ours / published")
    for model in SAME_WEIGHTS:
        of_model = [count for count in counts if count.model == model]
        told = "  ".join(f"{c.group} {c.ours}/{c.published} ({c.relative_error:+.1%})" for c in of_model)
        print(f"  {model}: {told}")
    errors = np.abs([count.relative_error for count in counts])
    print(f"  mean relative error {errors.mean():.2%}, worst {errors.max():.2%}")
    print("\nSizes, ours / published")
    for row in shape_rows(superclasses, imagenet_1k()):
        print(f"  {row.what}: {row.ours} / {row.published}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
