"""The searches by time that one ListOffsets request needs, one after the other.

Owns: the search in progress. Never does: reading more than indexes on the event loop (:mod:`.record_work` has a thread
for batches), deciding what to search. Invariant: completes once, unless the client has disconnected. Source: our own;
Kafka searches on a request handler's thread.
"""

from collections import deque
from collections.abc import Callable
from functools import partial

from odradek.protocol.errors import KafkaError
from odradek.storage.log.read_result import TimestampAndOffset
from odradek.storage.log.timestamp_search import ScanNeeded, TimestampSearch

from ..timers.work import KindOfWork
from .record_work import RecordWork

SEARCHES = KindOfWork("offset-search", "searches offsets by time")

STEPS_A_TURN = 16
"""Segments that are searched in one turn of the event loop. The first search of a segment reads an index from the
disk.
"""

Found = TimestampAndOffset | KafkaError | None


class OffsetSearches:
    """Runs searches; ``complete`` is called when all have ended."""

    def __init__(
        self, record_work: RecordWork, owner: object, is_wanted: Callable[[], bool], complete: Callable[[], None]
    ) -> None:
        """``owner`` and ``is_wanted``: as for :meth:`RecordWork.run`."""
        self._record_work = record_work
        self._owner = owner
        self._is_wanted = is_wanted
        self._complete = complete
        self._waiting: deque[tuple[TimestampSearch, Callable[[Found], None]]] = deque()

    def add(self, search: TimestampSearch, then: Callable[[Found], None]) -> None:
        """Adds a search; ``then`` is called with its result, or with the KafkaError that it raised."""
        self._waiting.append((search, then))

    def resume(self, found: TimestampAndOffset | None = None) -> None:
        """Continues the first search with ``found``, the result of its scan."""
        for _ in range(STEPS_A_TURN):
            if not self._waiting:
                self._complete()
                return
            search, then = self._waiting[0]
            try:
                needed = search.send(found)
            except StopIteration as end:
                self._waiting.popleft()
                then(end.value)
            except KafkaError as error:
                self._waiting.popleft()
                then(error)
            else:
                if needed is not None:
                    self._record_work.run(self._owner, needed.steps, partial(self._scanned, needed), self._is_wanted)
                    return
            found = None
        SEARCHES.turn(self._next_turn)

    def _next_turn(self) -> None:
        if self._is_wanted():
            self.resume()

    def _scanned(self, needed: ScanNeeded, result: Found) -> None:
        needed.scan.close()
        if isinstance(result, KafkaError):
            _, then = self._waiting.popleft()
            then(result)
            result = None
        self.resume(result)
