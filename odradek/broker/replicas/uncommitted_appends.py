"""The sizes of appends above the high watermark, for the consumers that wait for bytes.

Pure. Owns: end offset and size of each append that consumers do not see yet. Invariant: each append is counted once.
"""

from collections import deque

MOST_SIZES = 1_000
"""The maximum number of appends that are kept; later ones are added to the last."""


class UncommittedAppends:
    """The appends above the high watermark of one log."""

    __slots__ = ("_appended",)

    def __init__(self) -> None:
        self._appended: deque[tuple[int, int]] = deque()

    def appended(self, end_offset: int, size: int) -> None:
        """Notes that the log has grown to ``end_offset`` by ``size`` bytes."""
        appended = self._appended
        if appended and appended[-1][0] >= end_offset:
            return  # a batch that was sent twice
        if len(appended) >= MOST_SIZES:
            size += appended.pop()[1]
        appended.append((end_offset, size))

    def seen(self, high_watermark: int) -> int:
        """Removes the appends up to the new high watermark. Returns their bytes, which consumers can read now."""
        appended, size = self._appended, 0
        while appended and appended[0][0] <= high_watermark:
            size += appended.popleft()[1]
        return size

    def clear(self) -> None:
        """Forgets all appends, after the log was truncated."""
        self._appended.clear()
