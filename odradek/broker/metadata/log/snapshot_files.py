"""The snapshots of ``__cluster_metadata-0`` as files.

    <end offset, 20 digits>-<epoch, 10 digits>.checkpoint      all records below the end offset; read-only
    ....checkpoint.part                                        being written; removed at the next start
    ....checkpoint.deleted                                     no longer needed; removed after a minute or at the next
    start

Owns: these files. Never does: interpreting them. Invariant: a ``.checkpoint`` is complete and durable. Source: Kafka's
Snapshots, FileRawSnapshotWriter, KafkaMetadataLog.recoverSnapshots; KIP-630.
"""

import logging
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from odradek.storage.files.files import CREATE, READ_ONLY, Buffer, Files

logger = logging.getLogger(__name__)

SNAPSHOT_SUFFIX = ".checkpoint"
PARTIAL_SUFFIX = ".checkpoint.part"
DELETED_SUFFIX = ".checkpoint.deleted"
DELETE_DELAY_MS = 60_000
"""``ServerLogConfigs.LOG_DELETE_DELAY_MS_DEFAULT``, which the metadata log always has."""
READ_ONLY_MODE = 0o444
_NAME = re.compile(r"(\d{20})-(\d{10})(?:-[^.]*)?(\.checkpoint(?:\.part|\.deleted)?)")


class SnapshotId(NamedTuple):
    """The id of a snapshot of all records below ``end_offset``, the last of them in ``epoch``. Ordered as in Kafka."""

    end_offset: int
    epoch: int

    @property
    def file_name(self) -> str:
        """The name of the snapshot's file, such as ``00000000000000000042-0000000003.checkpoint``."""
        return f"{self.end_offset:020d}-{self.epoch:010d}{SNAPSHOT_SUFFIX}"


def ids_in(directory: Path, files: Files) -> list[SnapshotId]:
    """The snapshots in a directory, oldest first; empty if it does not exist. Raises OSError."""
    if not files.exists(directory):
        return []
    found = (_NAME.fullmatch(entry.name) for entry in files.list(directory))
    return sorted(SnapshotId(int(match[1]), int(match[2])) for match in found if match and match[3] == SNAPSHOT_SUFFIX)


class SnapshotFiles:
    """The snapshots in a directory, oldest first in ``ids``. Methods raise OSError."""

    def __init__(self, directory: Path, files: Files) -> None:
        """Use :meth:`open`."""
        self.ids: list[SnapshotId] = []
        self._directory = directory
        self._files = files
        self._removals: list[tuple[int, Path]] = []

    @classmethod
    def open(cls, directory: Path, files: Files, log_start_offset: int) -> "SnapshotFiles":
        """Finds the snapshots. Removes those that are incomplete, marked as deleted, or before the log's start.

        If the log does not begin at 0 and no snapshot covers the missing part, removes nothing, and ``ids`` is empty.
        """
        found = cls(directory, files)
        unneeded = []
        for entry in files.list(directory):
            match = _NAME.fullmatch(entry.name)
            if match is None:
                continue
            if match[3] != SNAPSHOT_SUFFIX or int(match[1]) < log_start_offset:
                unneeded.append(directory / entry.name)
        found.ids = [snapshot for snapshot in ids_in(directory, files) if snapshot.end_offset >= log_start_offset]
        if found.ids or not log_start_offset:
            for path in unneeded:
                logger.info("%s: removed, because it is not needed", path)
                files.remove(path)
        return found

    @property
    def latest(self) -> SnapshotId | None:
        """The latest snapshot."""
        return self.ids[-1] if self.ids else None

    def path(self, snapshot_id: SnapshotId) -> Path:
        """The file of a snapshot."""
        return self._directory / snapshot_id.file_name

    def read(self, snapshot_id: SnapshotId) -> bytes:
        """All bytes of a snapshot."""
        return self._files.read_file(self.path(snapshot_id))

    def read_start(self, snapshot_id: SnapshotId, size: int) -> bytes:
        """Up to ``size`` bytes from its beginning."""
        descriptor = self._files.open(self.path(snapshot_id), READ_ONLY)
        try:
            return self._files.read(descriptor, size, 0)
        finally:
            self._files.close(descriptor)

    def size(self, snapshot_id: SnapshotId) -> int:
        """The length of a snapshot's file."""
        descriptor = self._files.open(self.path(snapshot_id), READ_ONLY)
        try:
            return self._files.size(descriptor)
        finally:
            self._files.close(descriptor)

    def write(self, snapshot_id: SnapshotId, parts: Iterable[Buffer]) -> None:
        """Writes a snapshot. It gets its name when it is complete, durable and read-only.

        Any thread may call; then call :meth:`add`. The rest of a failed write is removed now or at the next start.
        """
        received = self.receive(snapshot_id)
        try:
            for part in parts:
                received.write(part)
            received.complete()
        except OSError:
            received.discard()
            raise

    def receive(self, snapshot_id: SnapshotId) -> "ReceivedSnapshot":
        """Begins the file of a snapshot that comes in pieces. Raises OSError."""
        return ReceivedSnapshot(snapshot_id, self.path(snapshot_id), self._files)

    def add(self, snapshot_id: SnapshotId) -> None:
        """Adds a written snapshot to the list."""
        if snapshot_id not in self.ids:
            self.ids.append(snapshot_id)
            self.ids.sort()

    def discard_damaged(self, snapshot_id: SnapshotId) -> None:
        """Removes an unreadable snapshot from the list. Its file stays for an investigation."""
        self.ids.remove(snapshot_id)

    def delete_before(self, kept: SnapshotId, now_ms: int) -> list[SnapshotId]:
        """Marks the snapshots before ``kept`` as deleted. Their files are removed after a minute. Returns their ids."""
        unneeded = [snapshot for snapshot in self.ids if snapshot < kept]
        for snapshot_id in unneeded:
            path = self.path(snapshot_id)
            target = path.with_name(path.name.removesuffix(SNAPSHOT_SUFFIX) + DELETED_SUFFIX)
            self._files.rename(path, target)
            self.ids.remove(snapshot_id)
            self._removals.append((now_ms + DELETE_DELAY_MS, target))
        return unneeded

    def remove_deleted(self, now_ms: int) -> int:
        """Removes the marked files whose delay has passed. Returns the number."""
        due = [entry for entry in self._removals if entry[0] <= now_ms]
        for entry in due:
            self._files.remove(entry[1])
            self._removals.remove(entry)
        return len(due)


class ReceivedSnapshot:
    """A snapshot that is written piece by piece: a ``.checkpoint.part`` until :meth:`complete`."""

    def __init__(self, snapshot_id: SnapshotId, path: Path, files: Files) -> None:
        """Opens its file, empty. Raises OSError."""
        self.snapshot_id = snapshot_id
        self.size = 0
        """Bytes written so far."""
        self._is_complete = False
        self._path = path
        self._partial = path.with_name(f"{path.name.removesuffix(SNAPSHOT_SUFFIX)}-0{PARTIAL_SUFFIX}")
        self._files = files
        self._descriptor: int | None = files.open(self._partial, CREATE)
        files.truncate(self._descriptor, 0)

    def write(self, part: Buffer) -> None:
        """Appends the next bytes. Raises OSError."""
        assert self._descriptor is not None, "it is complete"
        self._files.write_all(self._descriptor, [part], self.size)
        self.size += len(part)

    def read(self) -> bytes:
        """What is written so far. Raises OSError."""
        return self._files.read_file(self._partial)

    def sync(self) -> None:
        """Makes what is written so far durable, so that :meth:`complete` takes no time. Raises OSError."""
        assert self._descriptor is not None, "it is complete"
        self._files.sync(self._descriptor)

    def complete(self) -> None:
        """Syncs the snapshot and renames it to its final name. Raises OSError; then call :meth:`discard`."""
        assert self._descriptor is not None, "it is complete"
        self._files.sync(self._descriptor)
        self._close()
        self._files.set_mode(self._partial, READ_ONLY_MODE)
        self._files.rename(self._partial, self._path)
        self._is_complete = True
        self._files.sync_directory(self._path.parent)

    def discard(self) -> None:
        """Removes the written part, unless it is complete. If that fails, the next start removes it."""
        if self._is_complete:
            return
        self._close()
        try:
            self._files.remove(self._partial)
        except OSError as error:
            logger.warning("%s: can't be removed now; the next start removes it: %s", self._partial, error)

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            self._files.close(descriptor)
