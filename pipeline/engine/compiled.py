"""Compilation of hot loops by numba where it is installed; without it they run as they are, slower.

numba is imported, and a loop compiled, at the first call: importing it and fetching one function from its cache takes
as long as auditing a small directory. The machine code is cached on disk beside the module, or in the user's cache
where that can't be written. Source: numba's documentation of njit(cache=True, forceinline=True).
"""

from collections.abc import Callable
from importlib.util import find_spec
from types import FunctionType
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., object])

IS_COMPILED = find_spec("numba") is not None  # some platforms and Python versions have no wheel
"""Whether loops are machine code here."""


def compiled(function: Function) -> Function:
    """The function as machine code that lets other threads run, or as it is."""
    return cast(Function, _Compiled(function, is_inlined=False)) if IS_COMPILED else function


def inlined(function: Function) -> Function:
    """The same for a small function that compiled ones call for each record: made part of them.

    numba calls a function by a pointer for its result and a status to check: the walk over records took 44 ns with
    calls and takes 17 without.
    """
    return cast(Function, _Compiled(function, is_inlined=True)) if IS_COMPILED else function


class _Compiled:
    """A function that is compiled when it is called first, with those of its kind that it calls."""

    def __init__(self, function: Callable[..., object], *, is_inlined: bool) -> None:
        assert isinstance(function, FunctionType)
        self.plain = function
        self._is_inlined = is_inlined
        self._fast: Any = None

    def __call__(self, *arguments: Any) -> Any:
        return (self._fast or self.fast())(*arguments)

    def fast(self) -> Any:
        """numba's function. It looks up what it calls among the module's names: there stand those of this kind."""
        if self._fast is None:
            import numba

            plain = self.plain
            names = {
                name: value.fast() if isinstance(value, _Compiled) else value
                for name, value in plain.__globals__.items()
                if name in plain.__code__.co_names or name.startswith("__")
            }
            copy = FunctionType(plain.__code__, names, plain.__name__, plain.__defaults__)
            copy.__qualname__ = plain.__qualname__
            self._fast = numba.njit(cache=True, nogil=True, forceinline=self._is_inlined)(copy)
        return self._fast
