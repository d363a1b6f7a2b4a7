"""Compilation of hot loops by numba where it is installed; without it they run as they are, slower.

The machine code is cached on disk beside the module, or in the user's cache where that can't be written. Source:
numba's documentation of njit(cache=True).
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., object])

IS_COMPILED = find_spec("numba") is not None  # there is no wheel for every platform and Python
"""Whether loops are machine code here."""


def compiled(function: Function) -> Function:
    """The function as machine code that lets other threads run, or as it is."""
    if not IS_COMPILED:
        return function
    import numba

    jit: Any = numba.njit(cache=True, nogil=True)
    fast: Function = jit(function)
    return fast
