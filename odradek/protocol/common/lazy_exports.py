"""Lets a package export names whose modules are imported when a name is first used (PEP 562).

This keeps the start of the broker and of commands fast: importing such a package does not import its modules.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.machinery import PathFinder


def lazy_exports(package: str, modules: Mapping[str, str]) -> Callable[[str], object]:
    """Returns the ``__getattr__`` of ``package``, which exports each name of ``modules`` from the module given there.

        if TYPE_CHECKING:
            from odradek.client.types import TopicPartition
        else:
            __getattr__ = lazy_exports(__name__, {"TopicPartition": "types"})

    Any other name raises AttributeError. Type checkers see only the imports.
    """

    def import_name(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{modules[name]}"), name)

    return import_name


def lazy_exports_of(package: str, module: str) -> Callable[[str], object]:
    """Returns the ``__getattr__`` of ``package``, which exports ``__all__`` of one of its modules, and the names in it.

    Any other name raises AttributeError, those of the package's own modules first: the import system asks for them
    before it imports them.
    """

    def import_name(name: str) -> object:
        is_special = name.startswith("__") and name != "__all__"
        exporter = None if is_special or _is_module(package, name) else import_module(f"{package}.{module}")
        if exporter is None or name not in ("__all__", *exporter.__all__):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(exporter, name)

    return import_name


def _is_module(package: str, name: str) -> bool:
    return PathFinder.find_spec(f"{package}.{name}", sys.modules[package].__path__) is not None
