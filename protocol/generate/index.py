"""The source text of ``protocol/messages/__init__.py``: which class stands in which family's module.

Owns: that text. Never does: I/O.
"""

from collections.abc import Mapping, Sequence

from ..table import MessageSpec

_TEMPLATE = '''\
"""The message classes, one for each message of the table, in modules by family.

Importing this package imports none of them. Generated from the message table by
``python -m odradek.protocol.generate``; do not edit.
"""

from importlib import import_module
from typing import Any

FAMILIES: dict[str, str] = {
%s
}
"""Name of each message -> the module that has its class."""


def message_class(name: str) -> type[Any]:
    """The class called ``name`` (``FetchRequest``); imports its family. Raises KeyError for an unknown name."""
    found: type[Any] = getattr(import_module(f"{__name__}.{FAMILIES[name]}"), name)
    return found
'''


def index_source(members: Mapping[str, Sequence[MessageSpec]]) -> str:
    """The module that names every message's family."""
    entries = sorted((spec.name, family) for family, specs in members.items() for spec in specs)
    return _TEMPLATE % "\n".join(f'    "{name}": "{family}",' for name, family in entries)
