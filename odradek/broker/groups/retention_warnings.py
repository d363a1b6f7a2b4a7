"""Warns in the broker's log about groups whose next records retention is about to remove.

Owns: the times of the checks. Never does: deciding which groups are at risk (offsets/retention_risk.py does), removing
records. Source: our own; see docs/operating.md.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import KafkaError
from odradek.protocol.names.topics import TopicPartition
from odradek.storage.log.log import Log
from odradek.storage.log.log_retention import RetentionSegment

from ..replicas.directories.disk_space import CAP_KEY
from ..replicas.partitions import Partitions
from ..timers.loop_timers import LoopTimers
from ..timers.slices import SlicedWork, Slices
from .coordinator import GroupCoordinator
from .offsets.retention_risk import GroupAtRisk, Removal, WarningThrottle, groups_at_risk, upcoming_removals

logger = logging.getLogger(__name__)

FIRST_CHECK_MS = 5_000
PARTITIONS_A_STEP = 16
"""The number of partitions in one step: 15 us each."""
GROUPS_A_STEP = 100
Committed = tuple[str, str, int, int]
"""Group, topic, partition, committed offset."""
PAUSE_UNDER_CAP_MS = 60_000
"""The minimum interval in ms of warnings about deletions under the cap, which may happen every second."""
NAME = "the check for groups that are about to lose records"
"""The name of a check in the log."""


class RetentionWarnings:
    """Checks for groups at risk once in each retention check interval."""

    def __init__(
        self,
        partitions: Partitions,
        groups: GroupCoordinator,
        timers: LoopTimers,
        clock_ms: Callable[[], int],
        check_interval_ms: int,
        slices: Slices,
    ) -> None:
        """``clock_ms``: ms since 1970; ``check_interval_ms``: log.retention.check.interval.ms; ``slices`` runs the
        checks, since a broker may have thousands of partitions and groups.
        """
        self._partitions = partitions
        self._groups = groups
        self._timers = timers
        self._clock_ms = clock_ms
        self._check_interval_ms = check_interval_ms
        self._slices = slices
        self._check_in_progress: SlicedWork | None = None
        self._check_of_cap: SlicedWork | None = None
        self._throttle = WarningThrottle()
        self._throttle_under_cap = WarningThrottle(PAUSE_UNDER_CAP_MS)

    def start(self) -> None:
        """Checks soon, and then at the interval."""
        self._timers.schedule(min(FIRST_CHECK_MS, self._check_interval_ms), self._run)

    def _run(self) -> None:
        self._timers.schedule(self._check_interval_ms, self._run)
        if self._check_in_progress is None or self._check_in_progress.is_done:
            self._check_in_progress = self._slices.start_background(self._check(), NAME)

    def warn_under_cap(self, going: Mapping[Log, int]) -> None:
        """Warns about the next deletions under the node's cap. ``going``: for each log, the offset before which records
        are removed.

        The groups are searched in slices. If the last search is not done, this one is skipped: while room is short, the
        next call follows within a second.
        """
        if self._check_of_cap is None or self._check_of_cap.is_done:
            starts = {log: log.log_start_offset for log in going}  # retention may remove the records before the check
            self._check_of_cap = self._slices.start_background(self._check_under_cap(dict(going), starts), NAME)

    def _check_under_cap(self, going: Mapping[Log, int], start_of: Mapping[Log, int]) -> Steps[None]:
        removals: dict[TopicPartition, list[Removal]] = {}
        starts: dict[TopicPartition, int] = {}
        for count, partition in enumerate(list(self._partitions), 1):
            if not count % PARTITIONS_A_STEP:
                yield
            log = partition.open_log
            if log is not None and log in going:
                removals[partition.topic, partition.index] = [Removal(going[log], None, by_cap=True)]
                starts[partition.topic, partition.index] = start_of[log]
        if removals:
            committed = yield from self._committed(removals)
            self._warn(committed, removals, starts, self._throttle_under_cap)

    def _check(self) -> Steps[None]:
        """Warns about the groups that the next retention puts at risk, except those it has warned about lately."""
        now_ms = self._clock_ms()
        removals: dict[TopicPartition, list[Removal]] = {}
        starts: dict[TopicPartition, int] = {}
        for count, partition in enumerate(list(self._partitions), 1):
            if not count % PARTITIONS_A_STEP:
                yield
            log = partition.open_log
            if log is None or log.health.failure is not None or not log.health.is_open:
                continue
            try:
                upcoming = self._upcoming(log, now_ms)
            except (KafkaError, OSError) as error:
                logger.debug("%s-%d: %s", partition.topic, partition.index, error)
                continue
            if upcoming:
                removals[partition.topic, partition.index] = upcoming
                starts[partition.topic, partition.index] = log.log_start_offset
        if removals:
            committed = yield from self._committed(removals)
            self._warn(committed, removals, starts, self._throttle)

    def _warn(
        self,
        committed: Sequence[Committed],
        removals: Mapping[TopicPartition, list[Removal]],
        starts: Mapping[TopicPartition, int],
        throttle: WarningThrottle,
    ) -> None:
        now_ms = self._clock_ms()
        risks = groups_at_risk(committed, removals, starts)
        for risk in throttle.new(risks, now_ms):
            _log_risk(risk, now_ms)

    def _upcoming(self, log: Log, now_ms: int) -> list[Removal]:
        segments = list(log.segments)
        ends = [segment.base_offset for segment in segments[1:]] + [log.log_end_offset]
        facts = [
            RetentionSegment(end, segment.size, partial(getattr, segment, "largest_timestamp"))
            for segment, end in zip(segments, ends, strict=True)
        ]
        return upcoming_removals(
            facts,
            log.config,
            log_start_offset=log.log_start_offset,
            high_watermark=log.high_watermark,
            check_interval_ms=self._check_interval_ms,
            now_ms=now_ms,
        )

    def _committed(self, removals: Mapping[TopicPartition, list[Removal]]) -> Steps[list[Committed]]:
        """The committed offsets of these partitions."""
        found: list[Committed] = []
        try:
            shards = self._groups.shards()
        except KafkaError:
            return found  # the coordinator refuses because the broker is stopping
        wanted: dict[str, list[int]] = {}
        for topic, index in removals:
            wanted.setdefault(topic, []).append(index)
        for shard in shards:
            offsets = shard.core.offsets
            for count, group_id in enumerate(list(offsets.groups()), 1):
                if not count % GROUPS_A_STEP:
                    yield
                of_group = offsets.topics_of(group_id)
                for topic in wanted.keys() & of_group.keys():
                    for index in wanted[topic]:
                        committed = of_group[topic].get(index)
                        if committed is not None:
                            found.append((group_id, topic, index, committed.offset))
        return found


def _log_risk(risk: GroupAtRisk, now_ms: int) -> None:
    due_ms = risk.removal.due_ms
    if risk.removal.by_cap:
        when = f"soon, because the log directories are near {CAP_KEY}"
    elif due_ms is None:
        when = "soon, because the partition is near retention.bytes"
    elif due_ms <= now_ms:
        when = "at the next retention check"
    else:
        when = f"after {datetime.fromtimestamp(due_ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC, by retention.ms"
    logger.warning(
        "group %r has read %s-%d up to offset %d, and retention removes the records before offset %d %s. The group"
        " loses what it has not read by then. Let it catch up, or raise %s",
        risk.group_id,
        risk.topic,
        risk.partition,
        risk.committed_offset,
        risk.removal.end_offset,
        when,
        CAP_KEY if risk.removal.by_cap else "the topic's retention",
    )
