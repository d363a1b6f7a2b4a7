"""Handles the failure of a log directory: its partitions are refused, the metadata is updated, other directories
continue.

Owns: the order of these steps. Never does: detecting failures (the logs do, on any thread). Invariant: a failed
directory is offline until the next start; if the directory of the metadata fails, the broker shuts down. Source:
LogDirFailureChannel, ReplicaManager.handleLogDirFailure, LogManager.handleLogDirFailure; KIP-112, KIP-858.
"""

import asyncio
import logging
from collections.abc import Callable

from odradek.storage.directory.log_directories import LogDirectories
from odradek.storage.directory.log_directory import LogDirectory

from ...metadata.publisher.controller_link import BrokerReports
from ...timers.work import KindOfWork
from ..hosted_replicas import HostedReplicas
from ..partition import Partition

logger = logging.getLogger(__name__)

FAILURES = KindOfWork("log-dir-failure", "takes a failed log directory offline")


class DirectoryFailures:
    """Listens to all log directories. The steps run on the event loop."""

    def __init__(
        self,
        directories: LogDirectories,
        hosting: HostedReplicas,
        reports: BrokerReports,
        clock_ms: Callable[[], int],
        *,
        resign: Callable[[list[Partition]], None],
        end_broker: Callable[[str], None],
    ) -> None:
        """``resign`` is called with the partitions that are refused from now on; ``end_broker`` with the reason for a
        shutdown.
        """
        self._directories = directories
        self._hosting = hosting
        self._reports = reports
        self._clock_ms = clock_ms
        self._resign = resign
        self._end_broker = end_broker
        self._loop = asyncio.get_running_loop()

    def listen(self) -> None:
        """Handles failures from now on, and those that have happened already."""
        for directory in self._directories.all_online:
            directory.on_failure = self._on_failure
            if directory.failure is not None:
                self._on_failure(directory)

    def _on_failure(self, directory: LogDirectory) -> None:
        """Called on any thread."""
        FAILURES.soon_in(self._loop, self._take_offline, directory)

    def _take_offline(self, directory: LogDirectory) -> None:
        if directory is self._directories.own_metadata:
            self._end_broker(f"Shutdown broker because the metadata log dir {directory.path} has failed")
            return
        if directory not in self._directories.online:
            return
        is_metadata = directory.path == self._directories.metadata_path
        logger.warning("Stopping serving replicas in dir %s because the log directory has failed.", directory.path)
        failed = self._hosting.directory_failed(directory)
        directory_id = directory.directory_id
        self._directories.take_offline(directory, str(directory.failure))
        self._resign(failed)
        if not self._directories.online:
            paths = ", ".join(map(str, self._directories.paths))
            self._end_broker(f"Shutdown broker because all log dirs in {paths} have failed")
        elif is_metadata:
            self._end_broker(f"Shutdown broker because the metadata log dir {directory.path} has failed")
        else:
            self._notify_controller(directory, directory_id, failed)

    def _notify_controller(self, directory: LogDirectory, directory_id: bytes, failed: list[Partition]) -> None:
        names = ",".join(f"{partition.topic}-{partition.index}" for partition in failed)
        logger.warning("Stopped serving replicas %s in dir %s", names, directory.path)
        self._reports.directory_failed(directory_id, self._clock_ms())
