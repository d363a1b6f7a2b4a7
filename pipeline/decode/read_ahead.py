"""Reads sources ahead: the current one and the next one, each on its own thread.

Owns: the threads, and their end. Reading a file and checking CRCs release the interpreter lock most of the time, so
two segments' headers take three fifths of the time that they take one after the other. Memory: AHEAD
items of each of two sources.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from queue import Queue
from typing import Generic, TypeVar

AHEAD = 32
"""Items: of headers (checked_headers.py) a GiB of the log, 4 MB with batches of 16 KiB, 50 MB with the smallest."""
_AT_ONCE = 2

Source = TypeVar("Source")
Item = TypeVar("Item")


class _SourceThread(Generic[Item]):
    """The items of one source, which a thread reads."""

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
        self._done.result()  # raises what reading has raised

    def close(self) -> None:
        """Stops reading the source and frees its thread."""
        self._is_closed = True
        while not self._is_over:
            self._take()


def read_ahead(
    sources: Sequence[Source], read: Callable[[Source], Iterator[Item]]
) -> Generator[tuple[Source, Iterator[Item]], None, None]:
    """Yields each source, in order, with the items that `read` yields for it. No item may be None.

    Close it if it is not consumed to its end. An exception of `read` is raised at the place of its item.
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
