"""Imports at the top of a module whose execution waits until the imported module is used.

A start of a broker and a command import only what they use, but what a module needs should stand at its top, where
readers, type checkers and the tests of layers look for it:

    with lazy_imports:
        from . import describe, reset

    def run(options: Options) -> None:
        reset.reset_offsets(options)  # executes reset.py, once

Inside the block a module that was not imported yet is made, but not executed; one of ours is not even looked for. The
first use of one of its attributes does that; an error in it is raised there, and the next use tries again. ``from
module import name`` uses the module at once, so that only imports of modules belong into the block. Modules that are
already imported are taken as they are.

Owns: the modules that are not executed yet. Invariants: a module is executed once, by one thread, while others that use
it wait; what it imports itself is lazy only if it says so. Source: PEP 810, which brings this to Python 3.15;
``importlib.util.LazyLoader``, which looks for each file at once, and executes a module as soon as a second one imports
it.
"""

import sys
from _thread import RLock, get_ident
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_OF_USERS = frozenset({"__all__", "__dict__", "__path__"})
"""The special names whose use executes a module. The import system and tools ask for others, such as ``__spec__`` and
``__file__``, of every module in ``sys.modules``."""


class _LazyImports:
    """The block, and the finder that serves imports inside it."""

    def __init__(self) -> None:
        self._threads: set[int] = set()
        """The threads that are in a block. None is in two: a module is executed outside of blocks."""

    def __enter__(self) -> None:
        self._threads.add(get_ident())
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def __exit__(self, *_error: object) -> None:
        self._threads.discard(get_ident())

    def is_in_block(self) -> bool:
        """Whether this thread is in a block."""
        return get_ident() in self._threads

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """The spec of a module that executes itself at its first use. None outside of a block.

        None for a library that is not installed, too: a module that waits would make other code believe that it is.
        """
        if not self.is_in_block() or not (name.startswith("odradek.") or self._is_there(name)):
            return None
        return ModuleSpec(name, _LAZY)  # type: ignore[arg-type]

    def _is_there(self, name: str) -> bool:
        package = sys.modules.get(name.rpartition(".")[0])
        # What a package that waits has is known when it is executed.
        return (package is not None and is_waiting(package)) or self.spec_of_others(name) is not None

    def spec_of_others(self, name: str) -> ModuleSpec | None:
        """The spec that the import system would have used without the block; None if the module does not exist."""
        package = name.rpartition(".")[0]
        path = sys.modules[package].__path__ if package else None
        specs = (finder.find_spec(name, path, None) for finder in sys.meta_path if finder is not self)
        return next((spec for spec in specs if spec is not None), None)

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """A block in which this thread's imports are not lazy."""
        was_in_block = self.is_in_block()
        self._threads.discard(get_ident())
        try:
            yield
        finally:
            if was_in_block:
                self._threads.add(get_ident())


class _LazyLoader:
    """The loader of modules that are not executed yet."""

    def create_module(self, _spec: ModuleSpec) -> None:
        """Leaves the making of the module to the import system."""

    def exec_module(self, module: ModuleType) -> None:
        """Makes the module one that waits for its first use."""
        vars(module)["_lazy"] = _UntilUse()
        module.__class__ = _LazyModule


class _UntilUse:
    def __init__(self) -> None:
        self.lock = RLock()
        self.is_executing = False


class _LazyModule(ModuleType):
    """A module that is executed when one of its attributes is asked for or changed.

    Inside a block only the import system asks: whether a package has a module already, and where it is to be looked
    for. So a package is not executed there either.
    """

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("__") or name in _OF_USERS:
            if not lazy_imports.is_in_block():
                _execute(self)
            elif name == "__path__":
                return ()
        return ModuleType.__getattribute__(self, name)

    def __setattr__(self, name: str, value: object) -> None:
        if name != "__class__" and not lazy_imports.is_in_block():
            _execute(self)
        ModuleType.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        _execute(self)
        ModuleType.__delattr__(self, name)


_LAZY = _LazyLoader()
lazy_imports = _LazyImports()


def is_waiting(module: ModuleType) -> bool:
    """Whether a module was imported in a block and is not executed yet."""
    return type(module) is _LazyModule


def execute(module: ModuleType) -> None:
    """Executes a module now if it waits for its first use. Raises what the import of it raises."""
    if is_waiting(module):
        _execute(module)


def _execute(module: ModuleType) -> None:
    names = ModuleType.__getattribute__(module, "__dict__")
    state = names.get("_lazy")
    if state is None:
        return  # another thread has executed it since
    with state.lock:
        if state.is_executing or "_lazy" not in names:
            return  # the module asks for its own names while it is executed, or another thread was first
        state.is_executing = True
        kept = dict(names)
        try:
            with lazy_imports.suspended():
                _load(module, names)
        except BaseException:  # whatever the module raises: the next use tries again
            names.clear()
            names.update(kept)
            state.is_executing = False
            raise
        del names["_lazy"]
        ModuleType.__setattr__(module, "__class__", ModuleType)


def _load(module: ModuleType, names: dict[str, Any]) -> None:
    spec = lazy_imports.spec_of_others(names["__name__"])
    loader = None if spec is None else spec.loader
    if spec is None or loader is None:  # without a loader it is a folder without __init__.py
        raise ModuleNotFoundError(f"No module named {names['__name__']!r}", name=names["__name__"])
    names.update(__spec__=spec, __loader__=loader, __package__=spec.parent)
    if spec.submodule_search_locations is not None:
        names["__path__"] = spec.submodule_search_locations
    if spec.has_location:
        names.update(__file__=spec.origin, __cached__=spec.cached)
    made = loader.create_module(spec)
    loader.exec_module(made or module)
    if made is not None:  # an extension makes its own module
        names.update({name: value for name, value in vars(made).items() if name not in names})
