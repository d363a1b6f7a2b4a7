"""Reply functions that wrap another one: for authorization, metrics, and faults in tests.

Owns: the calls that every wrapper passes on unchanged. Never does: answering. Source: ours.
"""

from collections.abc import Iterator
from typing import Any

from .request import Reply


class WrappedReply:
    """The base class of reply functions that wrap another one. A subclass defines ``__call__(response)``."""

    __slots__ = ("_reply",)

    def __init__(self, reply: Reply[Any]) -> None:
        self._reply = reply

    def refuse(self, reason: str) -> None:
        """Closes the connection instead of answering."""
        self._reply.refuse(reason)

    def run_steps(self, request: object, steps: Iterator[object]) -> None:
        """Runs further steps of the request. See :class:`Reply`."""
        self._reply.run_steps(request, steps)


class RefusingReply(WrappedReply):
    """Closes the connection when the handler answers, and drops the answer."""

    __slots__ = ("_reason",)

    def __init__(self, reply: Reply[Any], reason: str) -> None:
        super().__init__(reply)
        self._reason = reason

    def __call__(self, response: Any) -> None:
        """Drops the answer and closes the connection."""
        self._reply.refuse(self._reason)
