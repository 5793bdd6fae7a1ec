"""Put the real output of the commands in README.md behind them; ``--check`` only tells whether it is there already.

    python scripts/readme_examples.py [--check]

An example is a comment ``<!-- example: COMMAND -->`` followed by a text block. Commands run in one temporary folder.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
EXAMPLE = re.compile(r"(<!-- example: imagenet-errors (.*?) -->\n```text\n)(.*?)(```\n)", re.DOTALL)


def output(arguments: str, folder: Path) -> str:
    """Run one command of ours and return what it printed."""
    command = [sys.executable, "-m", "imagenet_errors", *shlex.split(arguments)]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return "".join(f"{line.rstrip()}\n" for line in ended.stdout.rstrip().splitlines())


def with_examples(text: str) -> str:
    """Return the page with every example's output made anew."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "data").symlink_to(TOP / "data")
        return EXAMPLE.sub(lambda match: match[1] + output(match[2], folder) + match[4], text)


def main() -> None:
    """Rewrite README.md, or check it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if an output has changed")
    check = parser.parse_args().check
    readme = TOP / "README.md"
    old = readme.read_text(encoding="utf-8")
    new = with_examples(old)
    if check and new != old:
        sys.exit("README.md: an example's output has changed. Run: python scripts/readme_examples.py")
    if not check:
        readme.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
