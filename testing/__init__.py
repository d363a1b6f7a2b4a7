"""A pytest plugin and an in-process broker for the tests of our users.

    from odradek.testing import InProcessBroker

pytest imports this module in every run, so the broker is imported when the name is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # By its full name: mypy also meets this file as the package of tests/testing.
    from odradek.testing.in_process import InProcessBroker

__all__ = ["InProcessBroker"]


def __getattr__(name: str) -> object:
    """Imports :class:`~.in_process.InProcessBroker` when it is asked for (PEP 562)."""
    if name in __all__:
        return getattr(import_module(f"{__name__}.in_process"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
