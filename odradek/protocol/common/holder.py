"""A dataclass for objects that only hold others: the parts of a broker, a configuration.

Such a class is made at every start. ``dataclass(frozen=True, slots=True)`` takes 0.5 ms for ten fields, most of it for
methods that holders do not need: comparison, hash, text, and two that refuse assignments at run time. Without them it
takes 0.13 ms. Type checkers refuse assignments as before.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar, dataclass_transform

Held = TypeVar("Held")


@dataclass_transform(eq_default=False, frozen_default=True, field_specifiers=(field,))
def holder(*, kw_only: bool = False) -> Callable[[type[Held]], type[Held]]:
    """Makes a class a dataclass with slots that compares by identity. ``kw_only``: as of ``dataclass``."""
    return partial(dataclass, slots=True, eq=False, repr=False, kw_only=kw_only)
