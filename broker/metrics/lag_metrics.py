"""The lag of groups: how far their committed offsets are behind, in records and in seconds.

Owns: the last completed round of looks at all committed offsets. Never does: scanning a log: the time of a record is
that in the header of its batch. Invariants: one piece looks at LOOKED_AT_A_PIECE offsets, or reads TIMES_A_PIECE
headers; one request for metrics makes PIECES_A_REQUEST pieces, and a longer round goes on with the next request; the
samples are those of the MAX_LAGS largest lags, and the sum of the others. Source: our own; Apache Kafka's brokers have
no lag. The rule is that of the table of an audit (docs/lag.md).
"""

import heapq
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from ...protocol.errors import KafkaError
from ...storage.log.log import Log
from .pieces import Sample, in_pieces

MAX_LAGS = 1_000
"""Partitions of groups that have samples of their own."""
LOOKED_AT_A_PIECE = 256
"""A look costs 0.7 us."""
TIMES_A_PIECE = 4
"""The header of a batch is read from the page cache in 15 us, but from a slow disk in 10 ms."""
PIECES_A_REQUEST = 400
"""Looks at 102,400 offsets, or reads 1,600 headers: 0.1 s at most."""
OTHERS = ("others", "", "")
LABELS = ("group", "topic", "partition")
UNKNOWN = -1


class CommittedTopic(NamedTuple):
    """What a group has committed for a topic: partitions and offsets, which must not change while they are read."""

    group_id: str
    topic: str
    offsets: Iterable[tuple[int, int]]


class Lag(NamedTuple):
    """The lag of one partition of a group. ``lag``: records up to the high watermark; UNKNOWN without a copy here."""

    lag: int
    group_id: str
    topic: str
    partition: int
    offset: int

    @property
    def labels(self) -> tuple[str, str, str]:
        """The labels of its samples."""
        return self.group_id, self.topic, str(self.partition)


class LagSources(NamedTuple):
    """What the metrics read."""

    committed: Callable[[], Iterator[CommittedTopic]]
    """The offsets of the groups that this broker coordinates."""
    log_of: Callable[[str, int], Log | None]
    """The open log of a partition on this broker; None if it has none."""
    clock_ms: Callable[[], int]
    """Wall clock, milliseconds since the epoch."""


class LagRound:
    """One look at all committed offsets."""

    def __init__(self) -> None:
        self.largest: list[Lag] = []
        """A heap while the round runs, afterwards the largest first."""
        self.others = 0
        """The records of the lags that are not among them."""
        self.count = 0
        self.times: dict[Lag, int] = {}
        """The times of the first unread records, in ms since the epoch, where they are known."""

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
        """``pieces_a_request``: the most pieces that one request makes; a longer round goes on with the next one."""
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
        known = [one for one in shown.largest if one.lag != UNKNOWN]
        lags = [Sample(one.labels, one.lag) for one in known]
        if shown.count > len(shown.largest):
            lags.append(Sample(OTHERS, shown.others))
        yield from in_pieces(_lag_family, lags)
        seconds = (
            Sample(one.labels, max(0, now_ms - shown.times[one]) / 1000 if one.lag else 0.0)
            for one in known
            if not one.lag or one in shown.times
        )
        yield from in_pieces(_seconds_family, seconds)
        yield from in_pieces(_offset_family, (Sample(one.labels, one.offset) for one in shown.largest))
        yield GaugeMetricFamily(
            "kafka_coordinator_group_groupmetadatamanager_numoffsets", "Committed offsets.", shown.count
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
        known = {one[1:]: time_ms for one, time_ms in self._shown.times.items()}
        read = 0
        for one in found.largest:
            if one.lag <= 0:
                break
            time_ms = known.get(one[1:])  # of a group that has not moved
            if time_ms is None:
                time_ms = self._time_of(one)
                read += 1
                if not read % TIMES_A_PIECE:
                    yield
            if time_ms is not None:
                found.times[one] = time_ms
        self._shown = found

    def _time_of(self, one: Lag) -> int | None:
        """The time of the first unread record; None if it has none, or can't be read."""
        log = self._sources.log_of(one.topic, one.partition)
        if log is None:
            return None
        try:
            return time_at(log, one.offset)
        except KafkaError:
            return None  # the log has failed or was closed; its own metrics and the broker's log tell


def time_at(log: Log, offset: int) -> int | None:
    """The time of the batch with the record at ``offset``, or of the first one after it, in ms since the epoch; None if
    it has none. That is the time of the batch's first record, or the time of the append. Raises KafkaError.
    """
    log.check_usable()
    try:
        header = log.log_files.find_header(max(offset, log.log_start_offset))
    except OSError as error:
        raise log.storage_error(error) from error
    if header is None:
        return None
    is_first = not header.is_log_append_time and not header.has_delete_horizon
    time_ms = header.base_timestamp if is_first else header.max_timestamp
    return time_ms if time_ms >= 0 else None


def _lag_family() -> GaugeMetricFamily:
    what = "Records up to the high watermark that a group has not committed."
    return GaugeMetricFamily("odradek_group_lag_records", what, labels=LABELS)


def _seconds_family() -> GaugeMetricFamily:
    what = "Age of the first record that a group has not committed; 0 without one."
    return GaugeMetricFamily("odradek_group_lag_seconds", what, labels=LABELS)


def _offset_family() -> GaugeMetricFamily:
    return GaugeMetricFamily("odradek_group_committed_offset", "The committed offset.", labels=LABELS)
