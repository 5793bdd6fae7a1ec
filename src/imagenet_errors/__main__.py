"""``python -m imagenet_errors`` and the program ``imagenet-errors``."""

import sys


def main() -> None:
    """Run the program; Ctrl-C while it is still being loaded ends it without a traceback."""
    try:
        from imagenet_errors.cli import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
