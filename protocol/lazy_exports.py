"""Names of a package that are imported when they are first used (PEP 562).

The start of a broker and of a command depends on it: a package that exports its classes this way costs nothing until
one of them is used.
"""

from collections.abc import Callable, Mapping
from importlib import import_module


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
