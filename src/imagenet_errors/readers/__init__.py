"""Read any predictions file: what it holds is told from its bytes, never from its extension."""

from imagenet_errors.readers.formats import FORMATS, read_raw
from imagenet_errors.readers.raw import RawPredictions

__all__ = ["FORMATS", "RawPredictions", "read_raw"]
