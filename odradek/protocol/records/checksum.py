"""CRC-32C: loads the extension module of the package crc32c without the rest of the package.

Owns: the loading. Never does: computing. Importing the package takes 10 ms at every start, because it asks
importlib.metadata for its version (which imports email, zipfile and csv). The extension module alone takes 0.3 ms. If
it is not found, the whole package is imported. Source: the files of crc32c 2.7.
"""

import sys
from collections.abc import Callable
from importlib.machinery import PathFinder
from importlib.util import module_from_spec

PACKAGE = "crc32c"
EXTENSION = "crc32c._crc32c"


def load() -> Callable[..., int]:
    """Returns the function ``crc32c(data, value=0)``; ``value`` is the checksum of the bytes before ``data``."""
    if EXTENSION not in sys.modules:
        package = PathFinder.find_spec(PACKAGE)
        spec = PathFinder.find_spec(EXTENSION, package.submodule_search_locations) if package is not None else None
        if spec is None or spec.loader is None:
            from crc32c import crc32c as function

            return function
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[EXTENSION] = module  # a later import of the package uses the same module
    loaded: Callable[..., int] = sys.modules[EXTENSION].crc32c
    return loaded


crc32c = load()
