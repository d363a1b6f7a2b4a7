"""Reads sources ahead: the current one and the next one, each on its own thread.

Owns: the threads, from their start to their end. Reading files and checking CRCs release the interpreter lock (GIL)
most of the time. Reading the headers of two segments at once takes 3/5 of the time of one after the other. Memory:
AHEAD items of each of two sources.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from queue import Queue
from typing import Generic, TypeVar

AHEAD = 32
"""The maximum number of items that wait. Tables of checked_headers.py then stand for 1 GiB of the log and take 4 MB for
batches of 16 KiB, 50 MB for the smallest batches."""
_AT_ONCE = 2

Source = TypeVar("Source")
Item = TypeVar("Item")


class _SourceThread(Generic[Item]):
    """Reads one source on a thread, and iterates over its items."""

    def __init__(self, threads: ThreadPoolExecutor, items: Iterator[Item]) -> None:
        self._ready: Queue[Item | None] = Queue(AHEAD)
        self._is_closed = False
        self._is_over = False
        self._done = threads.submit(self._read, items)

    def _read(self, items: Iterator[Item]) -> None:
        try:
            for item in items:
                if self._is_closed:
                    return
                self._ready.put(item)
        finally:
            self._ready.put(None)

    def _take(self) -> Item | None:
        item = self._ready.get()
        self._is_over = item is None
        return item

    def __iter__(self) -> Iterator[Item]:
        while not self._is_over and (item := self._take()) is not None:
            yield item
        self._done.result()  # raises the exception of the thread, if any

    def close(self) -> None:
        """Stops reading the source and frees its thread."""
        self._is_closed = True
        while not self._is_over:
            self._take()


def read_ahead(
    sources: Sequence[Source], read: Callable[[Source], Iterator[Item]]
) -> Generator[tuple[Source, Iterator[Item]], None, None]:
    """Yields each source, in order, with the items that `read` yields for it. No item may be None.

    The caller must close the generator if it does not read it to the end. An exception in `read` is raised after the
    items that `read` has yielded.
    """
    readings: deque[tuple[Source, _SourceThread[Item]]] = deque()
    following = iter(sources)
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        try:
            while True:
                for source in islice(following, _AT_ONCE - len(readings)):
                    readings.append((source, _SourceThread(threads, read(source))))
                if not readings:
                    return
                source, reading = readings[0]
                yield source, iter(reading)
                readings.popleft()[1].close()
        finally:
            for _, reading in readings:
                reading.close()
