"""The share coordinator of one partition of ``__share_group_state``, without anything that waits or writes.

Owns: the states of the partition's share partitions. Never does: I/O, reading a clock. Invariant: a state changes in
:meth:`ShareStateCore.replay` alone. Pure but for log lines. Source: ``ShareCoordinatorShard``.

A stored value that makes no sense stops its share partition only: every question gets an error until a snapshot or a
tombstone follows. A key that makes no sense stops the partition of the topic.
"""

import logging
from collections.abc import Callable, Collection, Iterator

from odradek.protocol.internal_records.share_partition_key import SharePartitionKey
from odradek.protocol.internal_records.share_state import ShareState
from odradek.protocol.internal_records.share_state_records import (
    ShareStateRecord,
    Snapshot,
    Unreadable,
    Update,
    decode_record,
)

from ..coordinator.effects import SetTimer
from .config import ShareCoordinatorConfig
from .effects import COLD_SNAPSHOTS_KEY, PRUNE_KEY, ColdSnapshotsDue, PruneDue, ShareStateEffects

logger = logging.getLogger(__name__)

LOOKS_A_PORTION = 1_000
"""The most states that one portion of a search looks at, at 0.2 us each."""
FOUND_A_PORTION = 100
"""The most records that one portion of a search writes."""
BATCHES_A_PORTION = 2_000
"""A portion writes no further snapshot after this many state batches: 40 KB of records."""
NAMES_SHOWN = 5


class SnapshotOffsets:
    """The offsets of the last snapshots of the share partitions, in order. All records below the first of them can be
    deleted. Source: ``ShareCoordinatorOffsetsManager``."""

    __slots__ = ("_alone", "_offsets")

    def __init__(self) -> None:
        self._offsets: dict[SharePartitionKey, int] = {}
        """In the order of the offsets: the log grows at its end, so the last written key moves to the end."""
        self._alone = 0
        """The offset of a tombstone that left no other state."""

    def written(self, key: SharePartitionKey, offset: int) -> None:
        """Notes a snapshot."""
        self._offsets.pop(key, None)
        self._offsets[key] = offset

    def deleted(self, key: SharePartitionKey, offset: int) -> None:
        """Notes a tombstone."""
        self._offsets.pop(key, None)
        self._alone = offset

    @property
    def needed_from(self) -> int:
        """The first offset that is needed. 0: none may be deleted."""
        return next(iter(self._offsets.values()), self._alone)


class ShareStateCore:
    """The states of one partition."""

    __slots__ = ("_config", "_search", "_snapshots", "_warm_count", "is_enabled", "partition_count", "states")

    def __init__(
        self,
        config: ShareCoordinatorConfig,
        partition_count: Callable[[bytes], int],
        is_enabled: Callable[[], bool] = lambda: True,
    ) -> None:
        """``partition_count`` returns the number of partitions of a topic by its id, 0 if it does not exist.
        ``is_enabled`` returns whether share groups are enabled (share.version); if not, nothing is done on a timer.
        """
        self.states: dict[SharePartitionKey, ShareState] = {}
        self.partition_count = partition_count
        self.is_enabled = is_enabled
        self._config = config
        self._snapshots = SnapshotOffsets()
        self._warm_count = 0
        self._search: Iterator[SharePartitionKey] | None = None

    @property
    def updates_a_snapshot(self) -> int:
        """The number of updates after which a snapshot is due."""
        return self._config.snapshot_update_records_per_snapshot

    @property
    def needed_from(self) -> int:
        """The first offset of the log that a state needs; 0: none may be deleted."""
        return self._snapshots.needed_from

    def effects(self, now_ms: int) -> ShareStateEffects:
        """An empty list of effects for an event at ``now_ms``."""
        return ShareStateEffects(now_ms)

    # --- durable state

    def load(self, key: bytes | None, value: bytes | None, offset: int, producer_id: int, now_ms: int) -> None:
        """Replays a stored record. A record of an unknown type is skipped. Raises ProtocolError."""
        record = decode_record(key, value)
        if record is not None:
            self.replay(record, offset, producer_id, now_ms)

    def replay(self, record: ShareStateRecord, offset: int, producer_id: int, now_ms: int) -> None:
        """Replays a record of the log, which was just appended or is being loaded."""
        key, value = record
        state = self.states.get(key)
        if state is not None:
            self._warm_count -= state.is_warm
        if value is None:
            self.states.pop(key, None)
            self._snapshots.deleted(key, offset)
            return
        if state is None:
            state = self.states[key] = ShareState()
        match value:
            case Snapshot():
                state.take(value, self.updates_a_snapshot)
                self._snapshots.written(key, offset)
            case Update():
                state.change(value)
            case Unreadable():
                state.unreadable = f"offset {offset}: {value.reason}"
        self._warm_count += state.is_warm

    def replay_end_transaction(self, producer_id: int, committed: bool) -> None:
        """Does nothing: this topic is never part of a client's transaction."""

    # --- loading

    def on_loaded(self, effects: ShareStateEffects) -> None:
        """After loading, logs what is wrong with the log, and starts the periodic work."""
        headless = [key for key, state in self.states.items() if not state.has_snapshot and state.unreadable is None]
        if headless:
            logger.error(
                "the start of the log is lost: %d share partitions have updates without a snapshot before them, so"
                " acknowledged records may be delivered again: %s",
                len(headless),
                _names(headless),
            )
        for key, state in self.states.items():
            if state.unreadable is not None:
                logger.error("the state of share partition %s can't be used: %s", key.coordinator_key, state.unreadable)
        effects.set_timer(SetTimer(PRUNE_KEY, self._config.state_topic_prune_interval_ms, PruneDue()))
        self._find_cold_later(effects)

    def on_unloaded(self, effects: ShareStateEffects) -> None:
        """Does nothing: no request is parked."""

    # --- time

    def handle_timer(self, event: PruneDue | ColdSnapshotsDue, effects: ShareStateEffects) -> None:
        """Handles the event of a timer."""
        match event:
            case PruneDue():
                if self.is_enabled() and self.needed_from:
                    effects.delete_below = self.needed_from
                effects.set_timer(SetTimer(PRUNE_KEY, self._config.state_topic_prune_interval_ms, PruneDue()))
            case ColdSnapshotsDue():
                self._snapshot_cold(effects)

    def _snapshot_cold(self, effects: ShareStateEffects) -> None:
        """Writes snapshots of states whose last one is old, a portion at a time, so that older records can be deleted.

        Nothing is written if no state has changed since the last time: the log is as short as it can be.
        """
        if self._search is None:
            if not self.is_enabled() or not self._warm_count:
                self._find_cold_later(effects)
                return
            self._search = iter(list(self.states))
        newest_ms = effects.now_ms - self._config.cold_partition_snapshot_interval_ms
        batches_count = 0
        effects.atomic = False
        for _ in range(LOOKS_A_PORTION):
            key = next(self._search, None)
            if key is None:
                self._search = None
                break
            state = self.states.get(key)
            if state is None or state.unreadable is not None or state.written_ms > newest_ms:
                continue
            effects.records.append(ShareStateRecord(key, state.snapshot(effects.now_ms)))
            batches_count += len(state.batches)
            if len(effects.records) == FOUND_A_PORTION or batches_count >= BATCHES_A_PORTION:
                break
        self._find_cold_later(effects, at_once=self._search is not None)

    def _find_cold_later(self, effects: ShareStateEffects, *, at_once: bool = False) -> None:
        delay_ms = 0 if at_once else self._config.cold_partition_snapshot_interval_ms
        effects.set_timer(SetTimer(COLD_SNAPSHOTS_KEY, delay_ms, ColdSnapshotsDue()))

    # --- topics

    def tombstones_of_topics(self, topic_ids: Collection[bytes]) -> Iterator[list[ShareStateRecord]]:
        """Yields the tombstones of all states of these topics, in portions, some of which are empty."""
        keys = list(self.states)
        for start in range(0, len(keys), LOOKS_A_PORTION):
            found = [key for key in keys[start : start + LOOKS_A_PORTION] if key.topic_id in topic_ids]
            yield [ShareStateRecord(key, None) for key in found if key in self.states]


def _names(keys: list[SharePartitionKey]) -> str:
    shown = ", ".join(key.coordinator_key for key in keys[:NAMES_SHOWN])
    return shown + (", ..." if len(keys) > NAMES_SHOWN else "")
