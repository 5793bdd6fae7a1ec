"""``python -m imagenet_errors`` is ``imagenet-errors``."""

from imagenet_errors.cli import main

if __name__ == "__main__":
    main()
