"""The processes of a simulated cluster: every callback of the event loop belongs to one of them.

Owns: which process runs now (a context variable, which tasks and callbacks inherit). Invariants: nothing of a killed
process runs any more; what a paused process would do is done when it goes on, in its order.
"""

import asyncio
import contextvars
from collections import deque

_graveyard: list["Process"] = []
"""Keeps the tasks of killed processes: their ``finally`` blocks would run when they are collected."""


class Process:
    """One incarnation of one node."""

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
        """Ends it as kill -9 does: nothing of it runs any more."""
        self.is_dead = True
        self.held.clear()
        _graveyard.append(self)


current: contextvars.ContextVar[Process] = contextvars.ContextVar("process")
