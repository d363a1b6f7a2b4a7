"""Reply functions that stand before another one: of guards, of meters, of faults in tests.

Owns: what all of them pass on. Never does: answering. Source: ours.
"""

from collections.abc import Iterator
from typing import Any

from .request import Reply


class WrappedReply:
    """The base of a reply function before another one. A subclass is called with the answer."""

    __slots__ = ("_reply",)

    def __init__(self, reply: Reply[Any]) -> None:
        self._reply = reply

    def refuse(self, reason: str) -> None:
        """Closes the connection instead."""
        self._reply.refuse(reason)

    def run_steps(self, request: object, steps: Iterator[object]) -> None:
        """Runs further steps of the request. See :class:`Reply`."""
        self._reply.run_steps(request, steps)


class RefusingReply(WrappedReply):
    """Closes the connection once the handler answers."""

    __slots__ = ("_reason",)

    def __init__(self, reply: Reply[Any], reason: str) -> None:
        super().__init__(reply)
        self._reason = reason

    def __call__(self, response: Any) -> None:
        """Drops the answer."""
        self._reply.refuse(self._reason)
