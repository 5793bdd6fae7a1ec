"""Write reports/agreement.md and reports/sensitivity.md (with its figure) from the shared real files.

    python scripts/report_agreement.py [--shared ../shared/data]

Runs two commands from the top of the checkout and keeps their pages; each page says its command. Of the
differences a few of each kind are listed, since the judgements themselves are not ours to publish; the
command lists all."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
RUNS, REPORTS = Path("runs"), Path("reports")
N_LISTED = 3


def commands(shared: Path) -> dict[str, tuple[list[str], tuple[str, ...]]]:
    """Return run folder -> (arguments of the program, the files to keep)."""
    against = [
        "--human",
        str(shared / "human/vit3b_mistakes.json"),
        "--annotations",
        str(shared / "annotations/human_accuracy_v3.0.0_labels_only.json"),
        "--oov-evidence",
        str(shared / "published/oov_evidence.csv"),
    ]
    models = str(shared / "predictions_many")
    label_sets = [
        word
        for name in ("finegrained", "clean_validation")
        for word in ("--label-set", str(shared / f"datasets/val-labels/{name}.csv"))
    ]
    return {
        "agreement": (
            ["agreement", *against, "--list-at-most", str(N_LISTED)],
            ("agreement.md",),
        ),
        "sensitivity": (
            ["sensitivity", models, *against, *label_sets],
            ("sensitivity.md", "sensitivity.png", "sensitivity.svg"),
        ),
    }


def main() -> None:
    """Run both commands and put their pages into reports/."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=Path("../shared/data"), help="as seen from the top")
    shared = parser.parse_args().shared
    if not (TOP / shared).is_dir():
        sys.exit(f"no shared real data at {shared}")
    (TOP / REPORTS).mkdir(exist_ok=True)
    for name, (arguments, files) in commands(shared).items():
        program = [sys.executable, "-m", "imagenet_errors", *arguments, "--out", str(RUNS / name)]
        subprocess.run(program, cwd=TOP, check=True)
        for file in files:
            shutil.copyfile(TOP / RUNS / name / file, TOP / REPORTS / file)


if __name__ == "__main__":
    main()
