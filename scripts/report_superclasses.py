"""Draw and list the relation of superclasses: reports/superclasses.html, superclasses_map.png and superclasses.md.

    python scripts/report_superclasses.py [--published ../shared/data/published [--cross-validate]] [--reference]

With ``--published`` the page of figures also tells how near the relation comes to the published method's own, and
superclasses_evidence.md how well founded each superclass is; ``--cross-validate`` adds how far facts left out are
foreseen (some minutes);
``--reference`` accepts the relation as it is now for the test that shows pairs gained and lost.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from imagenet_errors.evidence.superclasses import Superclasses, load_superclasses
from imagenet_errors.labels import LabelSpace, imagenet_1k
from imagenet_errors.problems import InputError
from imagenet_errors.report.markdown import md_table
from imagenet_errors.report.superclasses import as_json, page, shape_rows

TOP = Path(__file__).resolve().parents[1]
REFERENCE = TOP / "tests" / "superclasses" / "reference.json"
COMMAND = "python scripts/report_superclasses.py"
MADE_BY = f"Made by `{COMMAND} --published DIR --cross-validate` from superclasses/*.toml."


def write(path: Path, content: str | bytes) -> None:
    """Write a file whole: under a temporary name, then renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.part")
    aside.write_bytes(content.encode() if isinstance(content, str) else content)
    aside.replace(path)


def by_domain(superclasses: Superclasses) -> tuple[NDArray[np.int64], list[tuple[str, int]]]:
    """Return the classes ordered by domain, superclass and index, and each domain with its number of classes.

    A class stands where its smallest superclass is; the classes alone come last.
    """
    every = np.arange(superclasses.n_classes)
    home = superclasses.first_shared(every, every).astype(np.int64)
    home[home < 0] = len(superclasses)
    order = np.lexsort((every, home))
    domains = [*superclasses.domains, "alone"]
    counts = dict.fromkeys(domains, 0)
    for row in home:
        counts[domains[row]] += 1
    return order, list(counts.items())


def draw_map(superclasses: Superclasses) -> bytes:
    """Draw the 1000 x 1000 map: a dot where two classes share a superclass, in its domain's colour."""
    import io

    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    order, counts = by_domain(superclasses)
    first = superclasses.first_shared(order[:, None], order[None, :])
    domains = list(dict.fromkeys(superclasses.domains))
    colour_of = np.array([domains.index(domain) for domain in superclasses.domains] + [-1])
    palette = plt.get_cmap("tab20")(np.arange(len(domains)) % 20)[:, :3]
    picture = np.where((first >= 0)[..., None], palette[colour_of[first]], 1.0)
    figure, axes = plt.subplots(figsize=(12, 12), dpi=110)
    axes.imshow(picture, interpolation="nearest")
    ends = np.cumsum([count for _, count in counts])
    middles = ends - np.array([count for _, count in counts]) / 2
    labels = [f"{domain} ({count})" for domain, count in counts]
    axes.set_yticks(middles, labels, fontsize=8)
    axes.set_xticks(middles, [domain for domain, _ in counts], rotation=90, fontsize=8)
    for end in ends[:-1]:
        axes.axhline(end - 0.5, color="0.85", linewidth=0.6)
        axes.axvline(end - 0.5, color="0.85", linewidth=0.6)
    axes.set_title(f"Classes that share a superclass, by domain. {COMMAND}", fontsize=9)
    saved = io.BytesIO()
    figure.savefig(saved, format="png", bbox_inches="tight", metadata={"Software": None})
    plt.close(figure)
    return saved.getvalue()


def figures_page(superclasses: Superclasses, labels: LabelSpace, published: Path | None, *, left_out: str = "") -> str:
    """Return the Markdown page: sizes beside the published ones, then how near the relation comes to theirs."""
    shape = [(row.what, row.ours, row.published) for row in shape_rows(superclasses, labels)]
    parts = [
        "# Superclasses: sizes, and agreement with the published method",
        MADE_BY + " All superclasses: [superclasses.html](superclasses.html); how well founded each is: "
        "[superclasses_evidence.md](superclasses_evidence.md); drawn:",
        "![Classes that share a superclass](superclasses_map.png)",
        "## Sizes",
        "A superclass counts in every group that it touches.",
        md_table(("", "ours", "published"), shape),
    ]
    return "\n\n".join([*parts, *(_agreement(superclasses, published) if published else ()), left_out])


def evidence_pages(superclasses: Superclasses, published: Path, *, cross_validated: bool) -> tuple[str, str]:
    """Return the page of what facts settle, and the section on facts left out (empty unless asked for)."""
    import constrain_superclasses as constrain

    evidence = constrain.gather(superclasses, published)
    if not cross_validated:
        return constrain.page(evidence), ""
    rows = constrain.table_rows(constrain.cross_validate(evidence))
    section = [
        "## Facts left out",
        "`python scripts/constrain_superclasses.py --published DIR --cross-validate`: a fifth of the published facts "
        "is left out, five times, and a rule decides from the rest, and from a prior made of confusions and WordNet, "
        "which of our memberships to keep and which near classes to add: a membership stays only if the prior or "
        "another fact speaks for it. The candidates were written with all facts at hand, so this says how far the "
        "facts support one another, not how a stranger's facts would fare; that was seen once, when 184 numbers "
        "of proposals arrived after the relation of then had been written: 83 % came out.",
        md_table(("kind of fact", "left out", "met by the prior alone", "met by the rule"), rows),
    ]
    return constrain.page(evidence), "\n\n".join(section)


def _agreement(superclasses: Superclasses, published: Path) -> Iterable[str]:
    from imagenet_errors.labels import GROUPS
    from measure_superclasses import fine_grained_counts, pair_agreement, proposal_agreement
    from superclass_facts import SAME_WEIGHTS

    agreements = pair_agreement(superclasses, published) | proposal_agreement(superclasses, published)
    rows = [
        (what, f"{agreement.n - len(agreement.differing):,} of {agreement.n:,}", f"{agreement.share:.1%}")
        for what, agreement in agreements.items()
    ]
    counts = fine_grained_counts(superclasses, published)
    told = {(c.model, c.group): f"{c.ours} / {c.published} ({c.relative_error:+.1%})" for c in counts}
    errors = np.abs([count.relative_error for count in counts])
    yield "## Pairs of classes and label proposals, as published"
    yield (
        "Pairs: `superclass_pairs.csv`; proposals: the out-of-vocabulary cases of `published_cases.csv` and "
        "`oov_proposal_counts_more.csv`."
    )
    yield md_table(("", "come out", "share"), rows)
    yield "Other numbers of proposals than published (prediction, original label, ours, published):"
    yield "\n".join(f"- {line}" for line in agreements["as many proposals"].differing) or "None."
    yield "## Fine-grained errors of eight models, ours / published"
    yield f"Mean relative error {errors.mean():.2%}, worst {errors.max():.2%}."
    models = [(model, *(told[model, group] for group in GROUPS)) for model in SAME_WEIGHTS]
    yield md_table(("model", *GROUPS), models)


def main(arguments: list[str] | None = None) -> int:
    """Write the three reports, and the tests' reference if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--published", type=Path, metavar="DIR", help="the published outputs to compare with")
    parser.add_argument("--out", type=Path, default=TOP / "reports", help="default: reports/")
    parser.add_argument("--cross-validate", action="store_true", help="leave facts out, five times (some minutes)")
    parser.add_argument("--reference", action="store_true", help="accept the relation for the tests")
    given = parser.parse_args(arguments)
    labels = imagenet_1k()
    try:
        superclasses = load_superclasses()
        founded, left_out = "", ""
        if given.published:
            founded, left_out = evidence_pages(superclasses, given.published, cross_validated=given.cross_validate)
        figures = figures_page(superclasses, labels, given.published, left_out=left_out)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    note = f"Classes that an untrained person confuses. Made by {COMMAND} from superclasses/*.toml."
    write(given.out / "superclasses.html", page(superclasses, labels, note=note))
    write(given.out / "superclasses.md", figures)
    if founded:
        write(given.out / "superclasses_evidence.md", founded)
    write(given.out / "superclasses_map.png", draw_map(superclasses))
    if given.reference:
        lines = (f"{json.dumps(name)}: {classes}" for name, classes in as_json(superclasses).items())
        write(REFERENCE, "{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(superclasses)} superclasses told in {given.out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
