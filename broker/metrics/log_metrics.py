"""The metrics of the logs and of the log cleaner, as Prometheus reads them.

Names are those that the usual rules of the JMX exporter give Kafka's MBeans (`kafka.log:type=Log,name=Size` is
`kafka_log_log_size`); what Kafka does not have begins with `odradek_`. Never does: counting; all values are read from
the broker's parts when somebody asks. Source: Kafka's UnifiedLog, LogCleaner and LogCleanerManager (newGauge).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from ...storage.directory.log_directory import LogDirectory
from ...storage.log.log import Log
from ..cleaner.state import CleanerState
from .pieces import Sample, in_pieces
from .space_metrics import space_metrics

PARTITION_LABELS = ("topic", "partition")


LOG_GAUGES: Sequence[tuple[str, str, Callable[[Log], int]]] = (
    ("kafka_log_log_size", "Bytes of a partition's segments.", lambda log: log.size_in_bytes),
    ("kafka_log_log_logstartoffset", "The log start offset.", lambda log: log.log_start_offset),
    ("kafka_log_log_logendoffset", "The log end offset.", lambda log: log.log_end_offset),
    ("kafka_log_log_numlogsegments", "Segments.", lambda log: len(log.segments)),
)
"""Name, meaning and value of what each log has."""


class LogMetrics:
    """Collects when it is asked, in pieces."""

    def __init__(
        self,
        directories: Sequence[LogDirectory],
        cleaner: Callable[[], CleanerState | None],
        clock_ms: Callable[[], int],
    ) -> None:
        """``cleaner``: None as long as there is no cleaner; ``clock_ms``: milliseconds since the epoch."""
        self._directories = directories
        self._cleaner = cleaner
        self._clock_ms = clock_ms

    def pieces(self) -> Iterator[Metric]:
        """All metrics with their values of now. Metrics of one name that follow each other are one family."""
        yield from self._of_logs()
        yield from space_metrics(self._directories)
        state = self._cleaner()
        if state is not None:
            yield from self._of_cleaner(state)
            yield from self._of_uncleanable(state)

    def _of_logs(self) -> Iterator[Metric]:
        # In the order of the dictionary: Prometheus needs no other, and sorting 20,000 partitions takes 10 ms.
        logs = [item for directory in self._directories for item in directory.logs.items()]
        for name, what, value in LOG_GAUGES:
            yield from in_pieces(
                partial(GaugeMetricFamily, name, what, labels=PARTITION_LABELS),
                (Sample((topic, str(partition)), value(log)) for (topic, partition), log in logs),
            )

    def _of_cleaner(self, state: CleanerState) -> Iterable[Metric]:
        last = state.last_round
        for name, what, value in (
            (
                "logcleaner_cleaner_recopy_percent",
                "Of the bytes that the last round read, how many it wrote again.",
                100 * last.bytes_written // max(last.bytes_read, 1),
            ),
            (
                "logcleaner_max_buffer_utilization_percent",
                "How full the last round's map of keys was.",
                int(100 * last.map_utilization),
            ),
            ("logcleaner_max_clean_time_secs", "How long the last round took.", last.elapsed_ms // 1000),
            (
                "logcleaner_max_compaction_delay_secs",
                "How long the log that waits longest has passed max.compaction.lag.ms.",
                state.max_compaction_delay_ms // 1000,
            ),
            (
                "logcleanermanager_max_dirty_percent",
                "The dirty ratio of the dirtiest log.",
                int(100 * state.max_dirty_ratio),
            ),
            (
                "logcleanermanager_time_since_last_run_ms",
                "When the cleaner last looked for work.",
                self._clock_ms() - state.last_run_ms,
            ),
        ):
            yield GaugeMetricFamily(f"kafka_log_{name}", what, value=value)
        yield CounterMetricFamily("odradek_log_cleaner_rounds", "Rounds that have ended well.", value=state.rounds)
        yield CounterMetricFamily("odradek_log_cleaner_read_bytes", "Bytes read by rounds.", value=state.bytes_read)
        yield CounterMetricFamily(
            "odradek_log_cleaner_written_bytes", "Bytes written by rounds.", value=state.bytes_written
        )

    def _of_uncleanable(self, state: CleanerState) -> Iterable[Metric]:
        count = GaugeMetricFamily(
            "kafka_log_logcleanermanager_uncleanable_partitions_count",
            "Partitions that could not be cleaned when it was last tried.",
            labels=("logdirectory",),
        )
        waiting = GaugeMetricFamily(
            "kafka_log_logcleanermanager_uncleanable_bytes",
            "Bytes that could be cleaned in these partitions, when it was last tried.",
            labels=("logdirectory",),
        )
        for directory in self._directories:
            path = str(directory.path)
            refusals = [refusal for refusal in state.uncleanable.values() if refusal.directory == path]
            count.add_metric((path,), len(refusals))
            waiting.add_metric((path,), sum(refusal.cleanable_bytes for refusal in refusals))
        yield from (count, waiting)
        yield from in_pieces(
            partial(
                GaugeMetricFamily,
                "odradek_log_cleaner_uncleanable_attempts",
                "How often it was tried to clean a partition that can't be cleaned, and why it can't.",
                labels=(*PARTITION_LABELS, "reason"),
            ),
            [
                Sample((topic, str(partition), refusal.reason), refusal.attempts)
                for (topic, partition), refusal in state.uncleanable.items()
            ],
        )
