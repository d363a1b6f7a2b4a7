"""Describes what ran during a stall of the event loop.

Pure. Owns: the wording of the warning. Never does: I/O, reading a clock, inspecting threads.
"""

from typing import NamedTuple, Protocol

from .log_lines import quoted

BUSY_SHARE = 0.5
"""If the thread used at least this share of the time on the processor, the stall was spent computing."""


class StackFrame(NamedTuple):
    """One frame of a stack: the file's path, the line, the function's qualified name."""

    path: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.function} ({'/'.join(self.path.split('/')[-3:])}:{self.line})"


class RequestSeen(NamedTuple):
    """The request that was dispatched last."""

    api: str
    client_id: str | None
    host: str

    def __str__(self) -> str:
        return f"{self.api} of client {quoted(self.client_id)} at {self.host}"


class Served(Protocol):
    """A request that is served in slices."""

    @property
    def name(self) -> str:
        """The API's name."""

    @property
    def client_id(self) -> str | None:
        """The client's id."""

    @property
    def client_host(self) -> str:
        """The client's address."""


def seen(request: Served) -> RequestSeen:
    """The facts about a request for the log."""
    return RequestSeen(request.name, request.client_id, request.client_host)


class Stall(NamedTuple):
    """The facts about a stall. Times are in ms."""

    length_ms: int
    cpu_ms: int
    """The processor time that the event loop's thread used."""
    suspended_ms: int
    """The time that the machine was suspended."""
    stack: tuple[StackFrame, ...]
    """The thread's stack during the stall, outermost first; empty if it was not recorded."""
    request: RequestSeen | None
    """The last request that had begun at that time."""
    sliced: RequestSeen | str | None = None
    """The request, or the name of the work, of the running slice; None if no slice ran, or one without either."""


def is_in_dispatch(stack: tuple[StackFrame, ...]) -> bool:
    """Whether a request was being handled."""
    return any(place.function == "Dispatcher.dispatch" for place in stack)


def is_in_slice(stack: tuple[StackFrame, ...]) -> bool:
    """Whether a slice of longer work ran (:mod:`.slices`)."""
    return any(place.function == "SlicedWork.advance" for place in stack)


def words(stall: Stall) -> str:
    """The cause of the stall, as text."""
    if stall.suspended_ms >= stall.length_ms // 2:
        return "the machine was suspended"
    is_busy = stall.cpu_ms >= stall.length_ms * BUSY_SHARE
    if stall.stack:
        what = "background work"
        if is_in_slice(stall.stack):
            if stall.sliced is not None:
                what = f"a slice of {stall.sliced}"
        elif is_in_dispatch(stall.stack) and stall.request is not None:
            what = str(stall.request)
        return f"it {'ran' if is_busy else 'waited in'} {what}, {stall.stack[-1]}"
    if not is_busy:
        return "the process did not run: it was stopped, or it got no CPU"
    last = "" if stall.request is None else f"; the last request was {stall.request}"
    return f"one call held the interpreter{last}"
