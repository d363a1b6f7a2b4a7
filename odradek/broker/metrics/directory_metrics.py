"""The metrics of log directories: failed ones, their space, whether producers are refused.

Never does: deciding. The values are read at each request. Kafka has no metrics of disk space, so their names begin with
``odradek_``. Source: ``kafka.log:type=LogManager`` (OfflineLogDirectoryCount, LogDirectoryOffline,
the same for cordoned ones); broker/replicas/directories/disk_watch.py; docs/operating.md.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from pathlib import Path

from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from odradek.storage.directory.log_directories import LogDirectories
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.files.disk_reserve import ReservedFiles

PREFIX = "kafka_log_logmanager_"
LABELS = ("logDirectory",)


class DirectoryMetrics:
    """Collects the metrics at each request."""

    def __init__(self, log_dirs: LogDirectories) -> None:
        self._log_dirs = log_dirs

    def pieces(self) -> Iterator[Metric]:
        """All metrics with their current values."""
        log_dirs = self._log_dirs
        yield from _states("offline", "1 if the log directory has failed.", log_dirs.paths, log_dirs.offline)
        yield from _states("cordoned", "1 if it gets no new partitions.", log_dirs.paths, log_dirs.cordoned)
        yield from _space(log_dirs.online)


def _states(state: str, what: str, paths: Iterable[Path], those: Container[Path]) -> Iterator[Metric]:
    """Which of the directories are in a state, and how many."""
    family = GaugeMetricFamily(f"{PREFIX}logdirectory{state}", what, labels=LABELS)
    count = 0
    for path in paths:
        count += path in those
        family.add_metric((str(path),), path in those)
    yield family
    yield GaugeMetricFamily(f"{PREFIX}{state}logdirectorycount", f"Log directories: {state}.", value=count)


def _space(directories: Sequence[LogDirectory]) -> Iterable[Metric]:
    """The space of the online directories."""
    free = GaugeMetricFamily("odradek_log_dir_free_bytes", "Free bytes of the directory's file system.", labels=LABELS)
    total = GaugeMetricFamily(
        "odradek_log_dir_total_bytes", "Size of the directory's file system in bytes.", labels=LABELS
    )
    reserved = GaugeMetricFamily("odradek_log_dir_reserved_bytes", "Bytes reserved for a full disk.", labels=LABELS)
    refuses = GaugeMetricFamily(
        "odradek_log_dir_refuses_produce", "1 while producers are refused for lack of space.", labels=LABELS
    )
    for directory in directories:
        if directory.failure is not None:
            continue
        label = (str(directory.path),)
        free_bytes, total_bytes = directory.files.space(directory.path)
        free.add_metric(label, free_bytes)
        total.add_metric(label, total_bytes)
        refuses.add_metric(label, directory.gate.refusal is not None)
        if isinstance(directory.files, ReservedFiles):
            reserved.add_metric(label, directory.files.reserved_bytes)
    return free, total, reserved, refuses
