"""Starts the watch of the disk space, with its warnings about groups.

Owns: passing the configuration to both. Never does: any check. Source: our own; see docs/operating.md.
"""

from collections.abc import Callable, Sequence, Set

from odradek.storage.directory.log_directory import LogDirectory

from ..config.server_config import ServerConfig
from ..groups.coordinator import GroupCoordinator
from ..groups.retention_warnings import RetentionWarnings
from ..replicas.directories.disk_space import CAP_KEY, MIN_FREE_KEY
from ..replicas.directories.disk_watch import DiskWatch
from ..replicas.partitions import Partitions
from ..timers.loop_timers import LoopTimers
from ..timers.slices import Slices


def watch_disks(
    config: ServerConfig,
    directories: Sequence[LogDirectory],
    partitions: Partitions,
    groups: GroupCoordinator,
    timers: LoopTimers,
    clock_ms: Callable[[], int],
    slices: Slices,
    refuses_in: Callable[[Set[bytes]], None],
    count_interval_ms: int,
) -> DiskWatch:
    """Starts to watch the space in these directories, and groups that are about to lose records.

    ``clock_ms``: milliseconds since the epoch. ``slices`` runs the work. ``refuses_in`` and
    ``count_interval_ms``: as for :class:`DiskWatch`.
    """
    interval_ms = config.get_int("log.retention.check.interval.ms")
    warnings = RetentionWarnings(partitions, groups, timers, clock_ms, interval_ms, slices)
    watch = DiskWatch(
        directories,
        timers,
        clock_ms,
        slices,
        min_free_bytes=config.get_int(MIN_FREE_KEY),
        cap_bytes=config.get_int(CAP_KEY),
        warn_under_cap=warnings.warn_under_cap,
        refuses_in=refuses_in,
        count_interval_ms=count_interval_ms,
    )
    watch.start()
    warnings.start()
    return watch
