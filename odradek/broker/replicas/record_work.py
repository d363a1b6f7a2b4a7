"""Runs work that decodes records on a thread, in short slices, so that the event loop can serve other clients.

Owns: the order of the work. Never does: the work itself, I/O of its own. Invariants: one slice runs at a time, and the
next one starts in a later turn of the event loop, so a thread that holds Python's lock (the GIL) delays each turn by at
most one slice; owners take turns, and each has at most one piece in progress; at most MAX_BEGUN pieces are in progress,
which bounds their memory. Source: our own; Kafka's request handler threads run in parallel.

Cost: a hand-over of a slice and back takes about 0.1 ms, and a slice SLICE_S. The loop starts each slice, so a busy
loop runs one slice a turn.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any

from odradek.protocol.common.steps import Result, Steps
from odradek.protocol.errors import ErrorCode, KafkaError

from ..timers.work import KindOfWork

RECORDS = KindOfWork("record-work", "reads records on a thread")

SLICE_S = 0.002
"""The length of a slice in seconds."""
MAX_BEGUN = 4
"""The number of pieces of work that share the thread. Others wait until one is done."""


class RecordTask:
    """One piece of work and its callback."""

    __slots__ = ("is_wanted", "owner", "steps", "then")

    def __init__(
        self, owner: object, steps: Steps[Any], then: Callable[[Any], None], is_wanted: Callable[[], bool]
    ) -> None:
        self.owner = owner
        self.steps = steps
        self.then = then
        self.is_wanted = is_wanted


class RecordWork:
    """The thread. It starts with the first work and ends with this object."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._begun: deque[RecordTask] = deque()
        self._waiting: dict[object, deque[RecordTask]] = {}
        """Pieces that have not begun, by owner. The owner that has waited longest is first."""
        self._is_running = False
        self._is_new_next = True

    def __len__(self) -> int:
        """The number of pieces of work that are not done."""
        return len(self._begun) + self._is_running + sum(map(len, self._waiting.values()))

    def run(
        self,
        owner: object,
        steps: Steps[Result],
        then: Callable[[Result | KafkaError], None],
        is_wanted: Callable[[], bool],
    ) -> None:
        """Runs the steps on the thread, then calls ``then`` on the event loop with the result.

        ``then`` gets the KafkaError that the steps raised. For any other exception it gets UNKNOWN_SERVER_ERROR, and
        the event loop reports the exception.
        ``owner``: for example a connection's id. Pieces of one owner run one after the other. ``is_wanted`` is called
        before each slice: if it returns False, the work is cancelled and ``then`` is not called.
        """
        self._waiting.setdefault(owner, deque()).append(RecordTask(owner, steps, then, is_wanted))
        self._run_next()

    def _run_next(self) -> None:
        """Runs the next slice, if none is running."""
        if self._is_running:
            return
        while (piece := self._next()) is not None and not piece.is_wanted():
            piece.steps.close()
        if piece is None:
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, thread_name_prefix="records")
        self._is_running = True
        loop = asyncio.get_running_loop()
        RECORDS.in_pool(self._pool, _slice, piece.steps, loop, lambda *ended: self._sliced(piece, *ended))

    def _next(self) -> RecordTask | None:
        """The piece to run next. New pieces and those in progress alternate, if another one may begin."""
        if self._is_new_next or not self._begun:
            self._is_new_next = False
            if len(self._begun) < MAX_BEGUN and (piece := self._next_new()) is not None:
                return piece
        self._is_new_next = True
        return self._begun.popleft() if self._begun else None

    def _next_new(self) -> RecordTask | None:
        """The first piece of the owner that has waited longest and has no piece in progress."""
        busy = {piece.owner for piece in self._begun}
        for owner, pieces in self._waiting.items():
            if owner not in busy:
                piece = pieces.popleft()
                del self._waiting[owner]
                if pieces:
                    self._waiting[owner] = pieces
                return piece
        return None

    def _sliced(self, piece: RecordTask, is_done: bool, result: object, error: BaseException | None) -> None:
        """Called on the event loop after a slice."""
        self._is_running = False
        if not is_done:
            self._begun.append(piece)
        if self._begun or self._waiting:
            RECORDS.turn(self._run_next)
        if not is_done:
            return
        if error is not None and not isinstance(error, KafkaError):
            RECORDS.failed("a step", error)
            error = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        piece.then(result if error is None else error)


class ChargedRecordWork(RecordWork):
    """The work of one client with a quota of time."""

    def __init__(self, work: RecordWork, charged: Callable[[Steps[Any]], Steps[Any]]) -> None:
        """``work`` runs the steps. ``charged`` wraps steps, so that their time is charged to the client's quota."""
        super().__init__()
        self._work = work
        self._charged = charged

    def run(
        self,
        owner: object,
        steps: Steps[Result],
        then: Callable[[Result | KafkaError], None],
        is_wanted: Callable[[], bool],
    ) -> None:
        """Runs the steps on the thread, as :meth:`RecordWork.run`, and charges their time."""
        self._work.run(owner, self._charged(steps), then, is_wanted)


def _slice(steps: Steps[Any], loop: asyncio.AbstractEventLoop, then: Callable[..., None]) -> None:
    """Called on the thread: runs steps for SLICE_S, or to the end."""
    is_done, result, error = False, None, None
    until = perf_counter() + SLICE_S
    try:
        while perf_counter() < until:
            next(steps)
    except StopIteration as end:
        is_done, result = True, end.value
    except BaseException as failure:  # noqa: BLE001 - it is raised again on the event loop
        is_done, error = True, failure
    if not loop.is_closed():
        RECORDS.soon_in(loop, then, is_done, result, error)
    error = None  # its traceback holds this frame: a cycle
