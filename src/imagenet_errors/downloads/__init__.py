"""Files published elsewhere, by name: fetched when first needed, checked by hash, kept with their commit.

Nothing is used before its sha256 is verified. A copy from anywhere is accepted if its bytes, or where the layout
is another its content, are the right ones. The cache has the mirrors' layout (OWNER/REPOSITORY/COMMIT/PATH), so
one machine's cache can be another's mirror.
"""

from imagenet_errors.downloads.cache import (
    MIRROR_VARIABLE,
    OFFLINE_VARIABLE,
    Connection,
    at_hand,
    fetch,
    fetch_all,
    go_offline,
    is_offline,
    listing,
    resolve,
    resolve_all,
    sized,
    target_of,
)
from imagenet_errors.downloads.registry import (
    FileFacts,
    PublishedFile,
    PublishedSource,
    facts_of,
    layouts,
    names_for,
    source,
    sources,
)
from imagenet_errors.prepared import CACHE_VARIABLE, cache_folder

__all__ = [
    "CACHE_VARIABLE",
    "MIRROR_VARIABLE",
    "OFFLINE_VARIABLE",
    "Connection",
    "FileFacts",
    "PublishedFile",
    "PublishedSource",
    "at_hand",
    "cache_folder",
    "facts_of",
    "fetch",
    "fetch_all",
    "go_offline",
    "is_offline",
    "layouts",
    "listing",
    "names_for",
    "resolve",
    "resolve_all",
    "sized",
    "source",
    "sources",
    "target_of",
]
