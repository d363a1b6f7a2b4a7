"""The processes of a simulated cluster: every callback of the event loop belongs to one of them.

Owns: the current process (a context variable, which tasks and callbacks inherit). Invariants: callbacks of a killed
process do not run any more; those of a paused process run in order when it continues.
"""

import asyncio
import contextvars
from collections import deque

_graveyard: list["Process"] = []
"""Keeps the tasks of killed processes: their ``finally`` blocks would run when they are collected."""


class Process:
    """One run of one node."""

    def __init__(self, node: str) -> None:
        self.node = node
        self.is_dead = False
        self.is_paused = False
        self.held: deque[asyncio.Handle] = deque()
        self.tasks: dict[asyncio.Task[object], None] = {}
        self.context = contextvars.copy_context()
        self.context.run(current.set, self)

    def __repr__(self) -> str:
        return self.node

    def die(self) -> None:
        """Ends it as kill -9 does: its callbacks do not run any more."""
        self.is_dead = True
        self.held.clear()
        _graveyard.append(self)


current: contextvars.ContextVar[Process] = contextvars.ContextVar("process")
