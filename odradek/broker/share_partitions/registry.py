"""All share partitions and share sessions of a broker.

Shell. Owns: which share partitions are served; what begins and ends with a session. Never does: answering requests.
Invariants: a share partition is served only where its partition is led; the end of a session releases what its member
holds. Source: ``SharePartitionManager``, ``SharePartitionCache``, ``ShareSessionCache``.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.internal_records.share_partition_key import SharePartitionKey

from ..metadata.publisher.published import PublishedMetadata
from ..metrics.counts import ShareCounts
from ..replicas.offset_searches import Found, OffsetSearches
from ..replicas.partition import Partition
from ..replicas.partitions import Partitions
from ..replicas.record_work import RecordWork
from ..share_state.persister import Persister
from ..timers.loop_timers import LoopTimers
from .live import LiveSharePartition, WriteLetters
from .sessions import SessionKey, ShareSession, ShareSessions, TopicIdPartition
from .settings import ShareSettings

with lazy_imports:
    from ..metrics import share_metrics

if TYPE_CHECKING:
    from ..metrics.share_metrics import SharePartitionSeen, ShareSources

DURATION = re.compile(
    r"by_duration:(?P<sign>-?)P(?:(?P<days>\d+)D)?(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>[\d.]+)S)?)?"
)

FORGET_AGAIN_MS = 60_000
"""When a group without sessions is looked at again, if a member still holds a record."""
ENDED_AT_ONCE = 8
"""The sessions that one request ends at most to make room for its own."""


class SharePartitions:
    """The share partitions that this broker leads, and the sessions of their members."""

    def __init__(
        self,
        metadata: PublishedMetadata,
        partitions: Partitions,
        persister: Callable[[], Persister],
        timers: LoopTimers,
        record_work: RecordWork,
        clock_ms: Callable[[], int],
        settings: Callable[[str], ShareSettings],
        write_letters: WriteLetters,
        max_sessions: int,
        counts: ShareCounts,
    ) -> None:
        """``persister`` returns what keeps the states. ``clock_ms``: wall clock, milliseconds since the epoch, for
        starts by time. ``settings`` returns those of a group. ``max_sessions``: of all members together.
        ``counts``: the metrics."""
        self._metadata = metadata
        self._partitions = partitions
        self._persister = persister
        self.timers = timers
        self._record_work = record_work
        self._clock_ms = clock_ms
        self.settings = settings
        self._write_letters = write_letters
        self.sessions = ShareSessions(max_sessions)
        self.counts = counts
        self._shares: dict[SharePartitionKey, LiveSharePartition] = {}
        self._of_group: dict[str, set[SharePartitionKey]] = {}

    def __len__(self) -> int:
        return len(self._shares)

    # --- share partitions

    def find(self, group_id: str, where: TopicIdPartition) -> LiveSharePartition | None:
        """The share partition, if it is served and this broker still leads its partition; otherwise None."""
        share = self._shares.get(SharePartitionKey(group_id, *where))
        if share is not None and not share.is_led:
            share.end(share.partition.refusal or ErrorCode.NOT_LEADER_OR_FOLLOWER)
            return None
        return share

    def get(self, group_id: str, where: TopicIdPartition) -> LiveSharePartition:
        """The share partition, which is served from now on. Raises KafkaError UNKNOWN_TOPIC_OR_PARTITION or the
        partition's refusal."""
        share = self.find(group_id, where)
        if share is not None:
            return share
        partition = self._led_partition(where)
        key = SharePartitionKey(group_id, *where)
        share = self._shares[key] = LiveSharePartition(
            key,
            partition,
            self._persister(),
            self.timers,
            self.timers.now_ms,
            partial(self.settings, group_id),
            self._find_start,
            self._write_letters,
            self._ended,
            self.counts,
        )
        self._of_group.setdefault(group_id, set()).add(key)
        return share

    def _led_partition(self, where: TopicIdPartition) -> Partition:
        topic_id, index = where
        topic = self._metadata.image.topics_by_id.get(topic_id)
        if topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
        if index not in topic.partitions:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        partition = self._partitions.find(topic.name, index)
        if partition is None:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if partition.refusal is not None:
            raise KafkaError(partition.refusal)
        return partition

    def _ended(self, share: LiveSharePartition) -> None:
        if self._shares.get(share.key) is share:
            del self._shares[share.key]
            keys = self._of_group[share.key.group_id]
            keys.discard(share.key)
            if not keys:
                del self._of_group[share.key.group_id]

    def _find_start(
        self, partition: Partition, settings: ShareSettings, found: Callable[[int | KafkaError], None]
    ) -> None:
        """Finds where a group begins (``share.auto.offset.reset``). Raises KafkaError."""
        log = partition.log
        if settings.auto_offset_reset == "earliest":
            found(log.log_start_offset)
            return
        if partition.leading is not None and not partition.leading.isr.are_offsets_settled:
            raise KafkaError(ErrorCode.OFFSET_NOT_AVAILABLE)
        duration_ms = _duration_ms(settings.auto_offset_reset)
        if duration_ms is None:
            found(log.high_watermark)
            return

        def searched(result: Found) -> None:
            if isinstance(result, KafkaError):
                found(result)
            else:
                high_watermark = log.high_watermark
                found(high_watermark if result is None else min(result.offset, high_watermark))

        searches = OffsetSearches(self._record_work, partition, lambda: True, lambda: None)
        searches.add(log.search_timestamp(self._clock_ms() - duration_ms), searched)
        searches.resume()

    def sources(self) -> "ShareSources":
        """What the metrics show."""

        def in_flight() -> "Iterator[SharePartitionSeen]":
            for key, share in list(self._shares.items()):
                core = share.core
                topic, batches = share.partition.topic, len(core.window.batches)
                yield share_metrics.SharePartitionSeen(key.group_id, topic, key.partition, core.in_flight, batches)

        return share_metrics.ShareSources(
            self.counts, self.sessions.__len__, lambda: self.sessions.partitions, in_flight
        )

    # --- sessions

    def open_session(
        self, key: SessionKey, partitions: Iterable[TopicIdPartition], connection_id: int, owner: str
    ) -> ShareSession:
        """Opens a session in place of one that the member has. Raises KafkaError SHARE_SESSION_LIMIT_REACHED."""
        wanted = dict.fromkeys(partitions)
        self.sessions.remove(key)
        self._make_room(key, owner, len(wanted))
        return self.sessions.open(key, wanted, connection_id, owner)

    def update_session(
        self, session: ShareSession, added: Collection[TopicIdPartition], forgotten: Iterable[TopicIdPartition]
    ) -> None:
        """Adds partitions to a session and removes others. Raises KafkaError SHARE_SESSION_LIMIT_REACHED."""
        self._make_room(session.key, session.owner, len(added))
        self.sessions.update(session, added, forgotten)

    def _make_room(self, key: SessionKey, owner: str, partitions: int) -> None:
        for _ in range(ENDED_AT_ONCE):
            victim = self.sessions.to_end_for(key, owner, partitions)
            if victim is None:
                return
            self.counts.evictions += 1
            self.end_session(victim)

    def end_session(self, key: SessionKey) -> None:
        """Ends a member's session, and releases what it holds."""
        session = self.sessions.remove(key)
        if session is None:
            return
        group_id, member_id = key
        for where in session.partitions:
            share = self.find(group_id, where)
            if share is not None:
                share.release(member_id)

    def connection_closed(self, connection_id: int) -> None:
        """Ends the sessions of a connection. A group without sessions is forgotten, as in Kafka at this moment only."""
        keys, group_ids = self.sessions.connection_closed(connection_id)
        for key in keys:
            self.counts.evictions += 1
            self.end_session(key)
        for group_id in group_ids:
            self._forget_unused(group_id)

    def _forget(self, group_id: str) -> None:
        """Forgets the share partitions of a group without sessions. One with records that a member holds stays until
        their locks end: what was never stored of them would be forgotten too."""
        for key in list(self._of_group.get(group_id, ())):
            share = self._shares[key]
            if not share.is_busy:
                share.end(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if group_id in self._of_group:
            self.timers.schedule(FORGET_AGAIN_MS, partial(self._forget_unused, group_id))

    def _forget_unused(self, group_id: str) -> None:
        if not self.sessions.has_members(group_id):
            self._forget(group_id)


def _duration_ms(text: str) -> int | None:
    """The milliseconds of ``by_duration:PnDTnHnMn.nS``; None for anything else."""
    match = DURATION.fullmatch(text)
    if match is None:
        return None
    parts = {name: float(match[name] or 0) for name in ("days", "hours", "minutes", "seconds")}
    return int(timedelta(**parts).total_seconds() * 1_000) * (-1 if match["sign"] else 1)
