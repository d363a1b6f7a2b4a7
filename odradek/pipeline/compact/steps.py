"""Chooses the implementation of a compaction's CPU-heavy steps: compiled loops if numba is installed, else Python."""

from importlib.util import find_spec

from odradek.storage.compaction.plain_steps import PlainSteps
from odradek.storage.compaction.record_steps import RecordSteps

from ..engine.compiled import IS_COMPILED


def fastest_steps() -> RecordSteps:
    """The compiled steps if numba and numpy are installed, else those in Python. Both write the same bytes."""
    if IS_COMPILED and find_spec("numpy") is not None:
        from .compiled_steps import CompiledSteps

        return CompiledSteps()
    return PlainSteps()
