"""Which partitions of one leader the next request fetches, and from where.

Owns: the followed partitions, the fetch session with the leader, the positions that were requested. Never does: reading
a clock, sending, processing answers (:mod:`.leader_fetcher` does). Invariants: each full request begins with another
partition, and in a session the leader rotates them, so that none starves behind large ones. Source:
``AbstractFetcherThread.maybeFetch``, ``LeaderEndPoint.buildFetch``.
"""

from typing import NamedTuple

from ..replication_throttle import ReplicationThrottle
from .copy import Copy
from .fetch_session import FetchSessionHandler, Key, SessionRequest
from .follower import FetchPosition

LOOK_AT_ALL_MS = 500
"""The time in ms after which a request is built from all partitions of a leader again. It finds what changes without an
answer, such as a log start offset. Between these times, a request is built only from the partitions that were answered,
so it costs nothing for the idle ones."""


class Asked(NamedTuple):
    """A partition of a request, and the position at which it was requested."""

    copy: Copy
    position: FetchPosition


class FetchPlan:
    """The partitions that this broker follows at one leader. All times are ms of one monotonic clock."""

    def __init__(self, throttle: ReplicationThrottle) -> None:
        self.copies: dict[Key, Copy] = {}
        self.session = FetchSessionHandler()
        self._throttle = throttle
        self._asked: dict[Key, Asked] = {}
        """The partitions in the last request, or in the session that it continues."""
        self._moved: dict[Key, None] = {}
        """Partitions whose part of the next request may differ from that of the last one."""
        self._looked_ms = -LOOK_AT_ALL_MS
        """When a request was built from all partitions."""
        self._leaving: set[Key] = set()
        """Partitions whose pause began after the last request. The next one leaves them out, even if it is over by
        then: a leader without news answers a partition only if it is new in the session."""
        self._is_held_up = False
        """Whether some partitions pause, are throttled, or wait for room on the disk. No event tells when they are due
        again, only the time."""

    def follow(self, copy: Copy) -> None:
        """Fetches a partition from now on. Replaces its copy of an earlier leader epoch."""
        key = copy.partition.topic_id, copy.partition.index
        self.copies[key] = copy
        self._moved[key] = None

    def unfollow(self, key: Key) -> None:
        """Stops fetching a partition. Its part of an answer that is on its way is dropped."""
        self.copies.pop(key, None)
        self._moved[key] = None

    def answered(self, topic_id: bytes, index: int) -> Asked | None:
        """The copy and the requested position of a partition in an answer; None if it is not followed any more."""
        key = topic_id, index
        asked = self._asked.get(key)
        if asked is None or self.copies.get(key) is not asked.copy:
            return None
        self._moved[key] = None
        return asked

    def look_whether_held_up(self, copy: Copy, now_ms: int) -> None:
        """Notes whether a partition pauses or is throttled. Call it after a part of an answer was processed."""
        partition = copy.partition
        has_paused = partition.not_before_ms > self._looked_ms
        if has_paused:
            self._leaving.add((partition.topic_id, partition.index))
        if has_paused or not self._is_wanted(copy, now_ms):
            self._is_held_up = True

    def looks_at_all(self, now_ms: int) -> bool:
        """Whether the next request is built from all partitions, and not only from those that may differ."""
        return self.session.is_full or self._is_held_up or now_ms >= self._looked_ms + LOOK_AT_ALL_MS

    def request_of_all(self, now_ms: int) -> SessionRequest | None:
        """The next request, built from all partitions; None if nothing is to be sent. Costs 4 us for each partition."""
        self._looked_ms = now_ms
        self._moved.clear()
        leaving, self._leaving = self._leaving, set()
        due = [(key, copy) for key, copy in self.copies.items() if key not in leaving and self._is_wanted(copy, now_ms)]
        self._is_held_up = len(due) < len(self.copies)
        if due:
            first, _ = due[0]
            self.copies[first] = self.copies.pop(first)  # next time the others come first
        self._asked = {key: Asked(copy, copy.fetch_position) for key, copy in due}
        return self.session.build({key: copy.request() for key, copy in due})

    def request_of_moved(self) -> SessionRequest | None:
        """The next request, built from the partitions that were answered, added or removed since the last one."""
        changed, forgotten = {}, []
        for key in self._moved:
            copy = self.copies.get(key)
            if copy is None:
                forgotten.append(key)
                self._asked.pop(key, None)
            else:
                changed[key] = copy.request()
                self._asked[key] = Asked(copy, copy.fetch_position)
        self._moved.clear()
        return self.session.build_changes(changed, forgotten)

    def first_pause_ms(self, now_ms: int, wait_max_ms: int) -> int:
        """How long the leader may wait for data: ``wait_max_ms``, or until the first pause ends."""
        for key, copy in self.copies.items():
            left_ms = copy.partition.not_before_ms - now_ms
            if key in self._leaving:
                left_ms = max(left_ms, 1)
            if 0 < left_ms < wait_max_ms:
                wait_max_ms = left_ms
        return wait_max_ms

    def next_due_ms(self, now_ms: int, backoff_ms: int) -> int | None:
        """The time until the first pause is over, or until the throttle and the room on the disk must be checked again
        (``backoff_ms``). None if no partition will be due by time alone."""
        pauses_ms = [
            backoff_ms if self._leaves_out(copy, now_ms) else copy.partition.not_before_ms - now_ms
            for copy in self.copies.values()
            if not copy.partition.is_stopped
        ]
        return max(0, min(pauses_ms)) if pauses_ms else None

    def _is_wanted(self, copy: Copy, now_ms: int) -> bool:
        """Whether to fetch a partition now."""
        return copy.partition.is_due(now_ms) and not self._leaves_out(copy, now_ms)

    def _leaves_out(self, copy: Copy, now_ms: int) -> bool:
        partition = copy.partition
        return copy.waits_for_room or self._throttle.leaves_out(
            copy.topic, partition.index, partition.is_in_sync, now_ms
        )
