"""Which of the two implementations of a compaction's heavy steps is used: compiled loops where numba is installed."""

from importlib.util import find_spec

from ...storage.compaction.record_steps import PlainSteps, RecordSteps
from ..engine.compiled import IS_COMPILED


def fastest_steps() -> RecordSteps:
    """Compiled ones, or the core install's. Both leave the same bytes."""
    if IS_COMPILED and find_spec("numpy") is not None:
        from .compiled_steps import CompiledSteps

        return CompiledSteps()
    return PlainSteps()
