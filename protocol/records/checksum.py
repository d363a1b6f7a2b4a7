"""CRC-32C: the function of the package crc32c, loaded without the rest of the package.

Owns: the loading. Never does: computing. The package's own module asks importlib.metadata for its version when it is
imported, which takes 10 ms of every start (importlib.metadata brings email, zipfile and csv); its extension module
takes 0.3. Without such an extension module the whole package is imported. Source: crc32c 2.7's files.
"""

import sys
from collections.abc import Callable
from importlib.machinery import PathFinder
from importlib.util import module_from_spec

PACKAGE = "crc32c"
EXTENSION = "crc32c._crc32c"


def load() -> Callable[..., int]:
    """``crc32c(data, value=0)``: the checksum of ``data`` that follows bytes whose checksum is ``value``."""
    if EXTENSION not in sys.modules:
        package = PathFinder.find_spec(PACKAGE)
        spec = PathFinder.find_spec(EXTENSION, package.submodule_search_locations) if package is not None else None
        if spec is None or spec.loader is None:
            from crc32c import crc32c as function

            return function
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[EXTENSION] = module  # whoever imports the package later gets the same
    loaded: Callable[..., int] = sys.modules[EXTENSION].crc32c
    return loaded


crc32c = load()
