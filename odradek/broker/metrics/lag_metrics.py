"""The lag of groups: how far their committed offsets are behind, in records and in seconds.

Owns: the result of the last completed round, which has looked at all committed offsets. Invariants: one piece looks at
LOOKED_AT_A_PIECE offsets, or reads one batch, in steps of less than a millisecond; one request for metrics makes
PIECES_A_REQUEST pieces, and a longer round continues with the next request; the samples are those of the MAX_LAGS
largest lags, and the sum of the others. Source: our own; Apache Kafka's brokers have no lag. Lag in seconds is the age
of the oldest record that a group has not committed (docs/metrics.md).
"""

import heapq
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import KafkaError
from odradek.storage.log.log import Log

from .pieces import Sample, in_pieces

MAX_LAGS = 1_000
"""Partitions of groups that have samples of their own."""
LOOKED_AT_A_PIECE = 256
"""Committed offsets that one piece looks at, 0.7 us each."""
PIECES_A_REQUEST = 400
"""The most pieces that one request makes. They look at 102,400 offsets, or read 400 batches, in 0.1 s."""
OTHERS = ("others", "", "")
LABELS = ("group", "topic", "partition")
UNKNOWN = -1


class CommittedTopic(NamedTuple):
    """What a group has committed for a topic: partitions and offsets, which must not change while they are read."""

    group_id: str
    topic: str
    offsets: Iterable[tuple[int, int]]


UnreadFrom = tuple[str, int, int]
"""Topic, partition, and the offset from which a group has not read."""
NOTHING_UNREAD = -2
"""The time if only control records are unread."""


class Lag(NamedTuple):
    """The lag of one partition of a group. ``lag``: records up to the high watermark; UNKNOWN without a local copy."""

    lag: int
    group_id: str
    topic: str
    partition: int
    offset: int

    @property
    def labels(self) -> tuple[str, str, str]:
        """The labels of its samples."""
        return self.group_id, self.topic, str(self.partition)

    @property
    def unread(self) -> UnreadFrom:
        """The partition, with the first offset that the group has not read."""
        return self.topic, self.partition, self.offset


class LagSources(NamedTuple):
    """The functions that the metrics read from."""

    committed: Callable[[], Iterator[CommittedTopic]]
    """The offsets of the groups that this broker coordinates."""
    log_of: Callable[[str, int], Log | None]
    """The open log of a partition on this broker; None if it has none."""
    clock_ms: Callable[[], int]
    """Wall clock, milliseconds since the epoch."""


class LagRound:
    """The result of one round over all committed offsets."""

    def __init__(self) -> None:
        self.largest: list[Lag] = []
        """A heap while the round runs, afterwards the largest first."""
        self.others = 0
        """The sum of the lags that are not in ``largest``, in records."""
        self.count = 0
        self.times: dict[UnreadFrom, int | None] = {}
        """The times of the first unread records, in ms since the epoch; None for records without a time."""

    def add(self, one: Lag) -> None:
        """Keeps the lag, if it is one of the largest."""
        self.count += 1
        if len(self.largest) < MAX_LAGS:
            heapq.heappush(self.largest, one)
        else:
            self.others += max(0, heapq.heappushpop(self.largest, one).lag)


class LagMetrics:
    """Collects the metrics at each request, in pieces."""

    def __init__(self, sources: LagSources, pieces_a_request: int = PIECES_A_REQUEST) -> None:
        """``pieces_a_request``: the most pieces that one request makes; a longer round continues with the next one."""
        self._sources = sources
        self._pieces_a_request = pieces_a_request
        self._shown = LagRound()
        self._running: Iterator[None] | None = None

    def pieces(self) -> Iterator[Metric]:
        """All metrics with the values of the last completed round."""
        for _ in range(self._pieces_a_request):
            yield _lag_family()
            if self._running is None:
                self._running = self._round()
            try:
                next(self._running)
            except StopIteration:
                self._running = None
                break
        shown, now_ms = self._shown, self._sources.clock_ms()
        known = [lag for lag in shown.largest if lag.lag != UNKNOWN]
        lags = [Sample(lag.labels, lag.lag) for lag in known]
        if shown.count > len(shown.largest):
            lags.append(Sample(OTHERS, shown.others))
        yield from in_pieces(_lag_family, lags)
        seconds = (Sample(lag.labels, age_s) for lag in known if (age_s := _age_s(lag, shown, now_ms)) is not None)
        yield from in_pieces(_seconds_family, seconds)
        yield from in_pieces(_offset_family, (Sample(lag.labels, lag.offset) for lag in shown.largest))
        yield GaugeMetricFamily(
            "kafka_coordinator_group_groupmetadatamanager_numoffsets", "Number of committed offsets.", shown.count
        )

    def _round(self) -> Iterator[None]:
        """Looks at all offsets, then at the times of the largest lags. Shows the result at its end."""
        found = LagRound()
        for group_id, topic, offsets in self._sources.committed():
            for partition, offset in offsets:
                log = self._sources.log_of(topic, partition)
                lag = UNKNOWN if log is None else max(0, log.high_watermark - offset)
                found.add(Lag(lag, group_id, topic, partition, offset))
                if not found.count % LOOKED_AT_A_PIECE:
                    yield
        found.largest.sort(reverse=True)
        known = self._shown.times
        for largest in found.largest:
            if largest.lag <= 0:
                break
            unread = largest.unread
            if unread not in found.times:
                # If the group has not moved, the time is known and no batch is read again.
                is_known = known.get(unread, NOTHING_UNREAD) != NOTHING_UNREAD
                found.times[unread] = known[unread] if is_known else (yield from self._time_of(largest))
        self._shown = found

    def _time_of(self, one: Lag) -> Steps[int | None]:
        """The time of the first unread record; NOTHING_UNREAD without such a record; None if it has no time."""
        yield
        log = self._sources.log_of(one.topic, one.partition)
        if log is None:
            return None
        try:
            record = yield from log.find_record(one.offset)
        except KafkaError:
            return None  # the log is damaged, has failed or was closed: the broker's log and its own metrics say so
        if record is None or record.offset >= log.high_watermark:
            return NOTHING_UNREAD
        return record.timestamp if record.timestamp >= 0 else None


def _age_s(one: Lag, shown: LagRound, now_ms: int) -> float | None:
    """The age of the first unread record in seconds; 0 without such a record, None if it is not known."""
    if one.lag <= 0:
        return 0.0
    time_ms = shown.times[one.unread]
    if time_ms is None:
        return None
    return 0.0 if time_ms == NOTHING_UNREAD else max(0, now_ms - time_ms) / 1000


def _lag_family() -> GaugeMetricFamily:
    what = "Records up to the high watermark that a group has not committed."
    return GaugeMetricFamily("odradek_group_lag_records", what, labels=LABELS)


def _seconds_family() -> GaugeMetricFamily:
    what = "Age of the oldest record that a group has not committed; 0 if there is none."
    return GaugeMetricFamily("odradek_group_lag_seconds", what, labels=LABELS)


def _offset_family() -> GaugeMetricFamily:
    return GaugeMetricFamily("odradek_group_committed_offset", "The committed offset of a group.", labels=LABELS)
