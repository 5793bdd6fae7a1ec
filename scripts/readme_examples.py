"""Put the real output of the commands in README.md and docs/*.md behind them; ``--check`` only tells whether it is so.

    python scripts/readme_examples.py [--check]

An example is a comment ``<!-- example: COMMAND -->`` followed by a text block. ``<!-- run: COMMAND -->`` is run without
being shown, and the block behind ``<!-- file: NAME -->`` is a file for the commands that follow. The commands of a page
run in one temporary folder.
"""

from __future__ import annotations

import argparse
import io
import re
import shlex
import sys
import tempfile
from contextlib import chdir, redirect_stdout
from pathlib import Path

from imagenet_errors import cli

TOP = Path(__file__).resolve().parents[1]
EXAMPLE = re.compile(r"(<!-- example: imagenet-errors (?P<shown>.*?) -->\n```text\n)(?P<output>.*?)(```\n)", re.DOTALL)
_STEP = re.compile(
    EXAMPLE.pattern
    + r"|<!-- run: imagenet-errors (?P<hidden>.*?) -->"
    + r"|<!-- file: (?P<file>[\w.]+) -->\n```\w*\n(?P<content>.*?)```\n",
    re.DOTALL,
)


def pages() -> list[Path]:
    """Return README.md and the pages of the documentation that have examples."""
    found = [TOP / "README.md", *sorted((TOP / "docs").glob("*.md"))]
    return [path for path in found if "<!-- example: " in path.read_text(encoding="utf-8")]


def output(arguments: str, folder: Path) -> str:
    """Run one command of ours and return what it printed."""
    said, was = io.StringIO(), sys.argv
    sys.argv = ["imagenet-errors", *shlex.split(arguments)]
    try:
        with chdir(folder), redirect_stdout(said):
            cli.main()
    except SystemExit as ended:
        if ended.code not in (0, 3):
            raise ValueError(f"{arguments}: status {ended.code}") from None
    finally:
        sys.argv = was
    return "".join(f"{line.rstrip()}\n" for line in said.getvalue().rstrip().splitlines())


def with_examples(text: str) -> str:
    """Return the page with every example's output made anew."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "data").symlink_to(TOP / "data")

        def step(match: re.Match[str]) -> str:
            if match["file"]:
                (folder / match["file"]).write_text(match["content"], encoding="utf-8")
                return match[0]
            if match["hidden"]:
                output(match["hidden"], folder)
                return match[0]
            return match[1] + output(match["shown"], folder) + "```\n"

        return _STEP.sub(step, text)


def main() -> None:
    """Rewrite the pages, or check them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if an output has changed")
    check = parser.parse_args().check
    for page in pages():
        old = page.read_text(encoding="utf-8")
        new = with_examples(old)
        if check and new != old:
            sys.exit(f"{page.name}: an example's output has changed. Run: python scripts/readme_examples.py")
        if not check:
            page.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
