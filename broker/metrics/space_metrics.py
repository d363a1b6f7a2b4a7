"""The metrics of disk space: free, reserved, and whether producers are refused.

Never does: deciding. The values are read at each request. Kafka has no such metrics, so the names begin with
``odradek_``. Source: broker/log_dirs/disk_watch.py; docs/disk-space.md.
"""

from collections.abc import Iterable, Sequence

from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from ...storage.directory.log_directory import LogDirectory
from ...storage.files.disk_reserve import ReservedFiles

LABELS = ("logdirectory",)


def space_metrics(directories: Sequence[LogDirectory]) -> Iterable[Metric]:
    """The metrics of the online log directories."""
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
