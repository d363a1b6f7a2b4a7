"""The sizes of appends above the high watermark, for the consumers that wait for bytes.

Pure. Owns: end offset and size of each append that consumers do not see yet. Invariant: what is noted is counted once.
"""

from collections import deque

MOST_SIZES = 1_000
"""Sizes kept of appends above the high watermark; more are added up."""


class UnseenAppends:
    """Those of one log."""

    __slots__ = ("_appended",)

    def __init__(self) -> None:
        self._appended: deque[tuple[int, int]] = deque()

    def appended(self, end_offset: int, size: int) -> None:
        """The log has grown to ``end_offset`` by ``size`` bytes. If replicas are slow, this does not grow for ever."""
        appended = self._appended
        if appended and appended[-1][0] >= end_offset:
            return  # a batch that was sent twice
        if len(appended) >= MOST_SIZES:
            size += appended.pop()[1]
        appended.append((end_offset, size))

    def seen(self, high_watermark: int) -> int:
        """The bytes that consumers see from now on."""
        appended, size = self._appended, 0
        while appended and appended[0][0] <= high_watermark:
            size += appended.popleft()[1]
        return size

    def clear(self) -> None:
        """Forgets all: the log was truncated."""
        self._appended.clear()
