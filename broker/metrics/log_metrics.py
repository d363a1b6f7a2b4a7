"""The metrics of the logs and of the log cleaner, as Prometheus reads them.

Names are those that the usual rules of the JMX exporter give Kafka's MBeans (`kafka.log:type=Log,name=Size` is
`kafka_log_log_size`); what Kafka does not have begins with `odradek_`. Never does: counting; all values are read from
the broker's parts when somebody asks. Source: Kafka's UnifiedLog, LogCleaner and LogCleanerManager (newGauge).
"""

from collections.abc import Callable, Iterable, Sequence

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ...storage.log_directory import LogDirectory
from ..cleaner_state import CleanerState
from .space_metrics import space_metrics

PARTITION_LABELS = ("topic", "partition")


class LogMetrics(Collector):
    """Collects when it is asked."""

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

    def collect(self) -> Iterable[Metric]:
        """All metrics with their values of now."""
        yield from self._of_logs()
        yield from space_metrics(self._directories)
        state = self._cleaner()
        if state is not None:
            yield from self._of_cleaner(state)
            yield from self._of_uncleanable(state)

    def _of_logs(self) -> Iterable[Metric]:
        size = GaugeMetricFamily("kafka_log_log_size", "Bytes of a partition's segments.", labels=PARTITION_LABELS)
        start = GaugeMetricFamily("kafka_log_log_logstartoffset", "The log start offset.", labels=PARTITION_LABELS)
        end = GaugeMetricFamily("kafka_log_log_logendoffset", "The log end offset.", labels=PARTITION_LABELS)
        segments = GaugeMetricFamily("kafka_log_log_numlogsegments", "Segments.", labels=PARTITION_LABELS)
        for directory in self._directories:
            for (topic, partition), log in sorted(directory.logs.items()):
                labels = (topic, str(partition))
                size.add_metric(labels, log.size_in_bytes)
                start.add_metric(labels, log.log_start_offset)
                end.add_metric(labels, log.log_end_offset)
                segments.add_metric(labels, len(log.segments))
        return size, start, end, segments

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
        attempts = GaugeMetricFamily(
            "odradek_log_cleaner_uncleanable_attempts",
            "How often it was tried to clean a partition that can't be cleaned, and why it can't.",
            labels=(*PARTITION_LABELS, "reason"),
        )
        for (topic, partition), refusal in sorted(state.uncleanable.items()):
            attempts.add_metric((topic, str(partition), refusal.reason), refusal.attempts)
        return count, waiting, attempts
