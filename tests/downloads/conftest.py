"""The fixtures of ``download_world``, for the tests of this folder alone."""

from download_world import server, world

__all__ = ["server", "world"]
