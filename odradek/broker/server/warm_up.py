"""Imports the modules that a start leaves out, a second after it.

Owns: the pace. Never does: importing modules that only other configurations or commands need. A request must not depend
on the disk: its first import would fail if no descriptor is left, and mix two versions after ``pip install -U`` beside
the running broker. If no descriptor is left for the warm-up either, it waits until there is one. One module is imported
in a turn of the event loop. All together they take 0.25 s of processor time and 12 MB. A thread was not better: it
holds the interpreter's lock while it imports.
"""

import logging
import os
from collections.abc import Callable
from importlib import import_module

from odradek.protocol.common.lazy_imports import execute
from odradek.storage.files.disk_errors import NO_DESCRIPTOR, lacks_descriptors

from ..timers.timers import Timer
from .warm_up_modules import MODULES

logger = logging.getLogger(__name__)

PAUSE_MS = 15
"""The time for requests between two modules."""
RETRY_MS = 1_000
"""The time until the next try if the process had no descriptor for a module."""

Schedule = Callable[[int, Callable[[], None]], Timer]


class WarmUp:
    """Imports the modules."""

    def __init__(self, schedule: Schedule, finished: Callable[[], None]) -> None:
        """``schedule`` calls back after some ms; ``finished`` is called once, at the end."""
        self._schedule = schedule
        self._finished = finished
        self._left = iter(MODULES)
        self._next = next(self._left, None)

    def step(self) -> None:
        """Imports one module, and the next one after a pause."""
        if self._next is None:
            self._finished()
            return
        try:
            execute(import_module(self._next))
        except (ImportError, OSError) as error:
            if _lacks_descriptors(error):
                logger.info("importing modules later, because no file descriptor is left: %s", error)
                self._schedule(RETRY_MS, self.step)
                return
            logger.warning("could not import a module; requests that need it will fail: %s", error)
        self._next = next(self._left, None)
        self._schedule(PAUSE_MS, self.step)


def _lacks_descriptors(error: ImportError | OSError) -> bool:
    """Whether a module was not found because no descriptor was left. (Errors of the library loader have no errno.)"""
    return lacks_descriptors(error) or any(os.strerror(code) in str(error) for code in NO_DESCRIPTOR)


def log_imported() -> None:
    """Logs the end of the warm-up."""
    logger.debug("all modules are imported")
