"""Takes a snapshot of the log directories of a running broker.

Shell. Owns: the order, and which files of a log belong to the cut. Never does: choosing where bytes go (stores.py).
Invariant: the snapshot is what the broker's directories were at one instant: the batches before the cut and none after
it, with recovery points, log starts and high watermarks of that instant. A broker that starts on a copy recovers it as
after a crash. Source: the files that Kafka's LogManager, UnifiedLog and RaftLog read at a start.
"""

import errno
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from odradek.protocol.names.topics import METADATA_TOPIC, TopicPartition
from odradek.storage.errors import CorruptCheckpointError, CorruptIndexError
from odradek.storage.files.checkpoints import (
    CLEANER_OFFSET_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    epoch_checkpoint_text,
    offset_checkpoint_text,
    read_epoch_checkpoint,
    read_offset_checkpoint,
)
from odradek.storage.files.file_names import (
    INDEX_SUFFIXES,
    LEADER_EPOCH_CHECKPOINT,
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    PARTITION_METADATA,
    SNAPSHOT_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    base_offset_of,
    partition_directory_name,
    segment_path,
)
from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import META_PROPERTIES
from odradek.storage.files.regular_files import open_regular
from odradek.storage.segment.offset_index import OffsetIndex
from odradek.storage.segment.time_index import TimeIndex
from odradek.storage.segment.transaction_index import TransactionIndex

from .broker_link import BrokerLink, SnapshotError
from .manifest import Manifest, SavedFile, SavedPartition
from .stores import Store

ROOT_FILES = (META_PROPERTIES, "bootstrap.checkpoint")
QUORUM_STATE = "quorum-state"
METADATA_SNAPSHOT = re.compile(r"(\d{20})-\d{10}\.checkpoint")
INDEXES: dict[str, type[OffsetIndex | TimeIndex | TransactionIndex]] = {
    OFFSET_INDEX_SUFFIX: OffsetIndex,
    TIME_INDEX_SUFFIX: TimeIndex,
    TRANSACTION_INDEX_SUFFIX: TransactionIndex,
}
TRIES = 20
"""How often a segment is looked for that the cleaner or retention renames at the same time."""

Progress = Callable[[int, int, int], None]
"""Gets (partitions done, partitions in all, bytes copied)."""


class Taken(NamedTuple):
    """A snapshot that is complete. `turn_us`: how long the broker's event loop was busy with the cut, us.
    `new_bytes`: the bytes that were copied. `unreadable`: partitions that the broker can't open; their files are saved
    as they are."""

    path: Path
    manifest: Manifest
    turn_us: int
    new_bytes: int
    unreadable: list[str]


def take_snapshot(directory: Path, store: Store, progress: Progress) -> Taken:
    """Takes a snapshot of all directories of the broker that has `directory` open. Raises SnapshotError, OSError."""
    with BrokerLink(directory) as link:
        cut = link.cut()
        roots = [Path(path) for path in cut["directories"]]
        for root in roots:
            if not root.is_dir():
                raise SnapshotError(f"{root}: the broker has this directory, and here it is not: run this where it is")
        if cut["offline"]:
            raise SnapshotError(f"{', '.join(cut['offline'])}: offline, so its partitions can't be saved")
        store.begin(cut["atMs"])
        try:
            taking = _Taking(link, store, roots, cut, progress)
            taking.save_logs()
            for path in cut["unreadable"]:
                taking.save_whole(Path(path))
            taking.save_roots()
            manifest = Manifest(
                cut["atMs"], cut["nodeId"], cut["clusterId"], cut["directories"], taking.partitions, taking.files
            )
            return Taken(store.finish(manifest), manifest, cut["turnUs"], store.new_bytes, cut["unreadable"])
        except BaseException:
            store.discard()
            raise


class _Taking:
    """One snapshot while it is being taken."""

    def __init__(
        self, link: BrokerLink, store: Store, roots: list[Path], cut: dict[str, Any], progress: Progress
    ) -> None:
        self._link = link
        self._store = store
        self._roots = roots
        self._count = cut["logs"]
        self._may_link = bool(cut["isAlone"])
        """A follower cuts its files when another broker leads. A linked file would be cut in the snapshot, too."""
        self._progress = progress
        self._files = Files()
        self.files: list[SavedFile] = []
        self.partitions: list[SavedPartition] = []
        self._offsets: dict[tuple[int, str], dict[TopicPartition, int]] = {}
        """(directory, name of the checkpoint) -> the offsets of the partitions there."""

    def save_logs(self) -> None:
        """Saves the logs of the cut."""
        seen = -1
        for log in self._link.logs():
            folder = f"{log['directory']}/{partition_directory_name(log['topic'], log['partition'])}"
            if log["index"] != seen:
                seen = log["index"]
                self._note(log)
                self._progress(seen, self._count, self._store.new_bytes)
            for segment in log["segments"]:
                self._save_segment(log, folder, segment)
            if log["segments"][-1]["isLast"]:
                self._save_small_files(folder, Path(log["segments"][-1]["path"]).parent, log["topic"], log["end"])

    def _note(self, log: dict[str, Any]) -> None:
        key = log["topic"], log["partition"]
        name = partition_directory_name(*key)
        self.partitions.append(SavedPartition(log["directory"], name, log["start"], log["end"]))
        if log["topic"] == METADATA_TOPIC:
            return  # Kafka has no offsets of it in the checkpoints
        for checkpoint, field in (
            (RECOVERY_POINT_CHECKPOINT, "recoveryPoint"),
            (LOG_START_OFFSET_CHECKPOINT, "start"),
            (REPLICATION_OFFSET_CHECKPOINT, "highWatermark"),
        ):
            self._offsets.setdefault((log["directory"], checkpoint), {})[key] = log[field]

    def _save_segment(self, log: dict[str, Any], folder: str, segment: dict[str, Any]) -> None:
        """Saves a segment of the cut with its indexes; of the last one only the batches before the cut."""
        for _ in range(TRIES):
            saved = self._try_segment(folder, segment, log["end"])
            if saved is not None:
                self.files += saved
                return
            segment = self._link.segment(log["index"], segment["number"])
        raise SnapshotError(f"{segment['path']}: the file was renamed again and again; take the snapshot again")

    def _try_segment(self, folder: str, segment: dict[str, Any], end: int) -> list[SavedFile] | None:
        """The saved files of a segment; None if another file has its name now."""
        source, is_closed = Path(segment["path"]), not segment["isLast"]
        base: int = segment["base"]
        descriptor = _open(source)
        if descriptor is None:
            return None
        try:
            if os.fstat(descriptor).st_ino != segment["inode"]:
                return None
            name = segment_path(Path(folder), base, LOG_SUFFIX).as_posix()
            saved = [self._save(name, source, descriptor, segment["bytes"], is_closed=is_closed)]
        finally:
            os.close(descriptor)
        # The indexes are of this log file if it still has its name after they were saved: the log file is the first one
        # that the cleaner renames.
        for suffix in INDEX_SUFFIXES:
            index = source.with_name(source.name.replace(LOG_SUFFIX, suffix, 1))
            target = segment_path(Path(folder), base, suffix).as_posix()
            if is_closed:
                saved += self._save_if_there(target, index, is_closed=True)
            else:
                saved += self._save_index_of_cut(target, index, suffix, base, end)
        try:
            return saved if os.stat(source).st_ino == segment["inode"] else None
        except FileNotFoundError:
            return None

    def _save_index_of_cut(self, path: str, source: Path, suffix: str, base: int, end: int) -> list[SavedFile]:
        """Saves the entries of an index of a log's last segment that are of the cut. A start completes the index."""
        try:
            index = INDEXES[suffix](base, source.read_bytes())
        except (FileNotFoundError, CorruptIndexError):
            return []
        index.truncate_to(end)
        return [self._store.save_bytes(path, index.to_bytes())]

    def _save_small_files(self, folder: str, source: Path, topic: str, end: int) -> None:
        """Saves what a partition's directory has besides segments, as far as it is of the cut."""
        for name in sorted(os.listdir(source)):
            offset = base_offset_of(name)
            snapshot = METADATA_SNAPSHOT.fullmatch(name)
            is_of_cut = (
                (name.endswith(SNAPSHOT_SUFFIX) and offset is not None and offset <= end)
                or name == PARTITION_METADATA
                or (topic == METADATA_TOPIC and name == QUORUM_STATE)
                or (topic == METADATA_TOPIC and snapshot is not None and int(snapshot[1]) <= end)
            )
            if is_of_cut:
                self.files += self._save_if_there(f"{folder}/{name}", source / name, is_closed=False)
        try:
            epochs = read_epoch_checkpoint(self._files, source / LEADER_EPOCH_CHECKPOINT)
        except CorruptCheckpointError:
            return  # a start rebuilds it from the batches
        text = epoch_checkpoint_text([(epoch, start) for epoch, start in epochs if start < end])
        self.files.append(self._store.save_bytes(f"{folder}/{LEADER_EPOCH_CHECKPOINT}", text))

    def save_whole(self, source: Path) -> None:
        """Saves the files of a partition that the broker can't open, and so does not change."""
        number = self._roots.index(source.parent)
        for name in sorted(os.listdir(source)):
            self.files += self._save_if_there(f"{number}/{source.name}/{name}", source / name, is_closed=False)

    def save_roots(self) -> None:
        """Saves the files in the root of each directory."""
        for number, root in enumerate(self._roots):
            for name in ROOT_FILES:
                self.files += self._save_if_there(f"{number}/{name}", root / name, is_closed=False)
            for checkpoint in (RECOVERY_POINT_CHECKPOINT, LOG_START_OFFSET_CHECKPOINT, REPLICATION_OFFSET_CHECKPOINT):
                text = offset_checkpoint_text(self._offsets.get((number, checkpoint), {}))
                self.files.append(self._store.save_bytes(f"{number}/{checkpoint}", text))
            text = offset_checkpoint_text(dict(self._cleaned(number, root)))
            self.files.append(self._store.save_bytes(f"{number}/{CLEANER_OFFSET_CHECKPOINT}", text))

    def _cleaned(self, number: int, root: Path) -> Iterator[tuple[TopicPartition, int]]:
        ends = self._offsets.get((number, REPLICATION_OFFSET_CHECKPOINT), {})
        try:
            cleaned = read_offset_checkpoint(self._files, root / CLEANER_OFFSET_CHECKPOINT)
        except CorruptCheckpointError:
            return  # the cleaner then begins at the start of each log
        for key, offset in cleaned.items():
            if key in ends:
                yield key, min(offset, ends[key])

    def _save_if_there(self, path: str, source: Path, *, is_closed: bool) -> list[SavedFile]:
        descriptor = _open(source)
        if descriptor is None:
            return []
        try:
            return [self._save(path, source, descriptor, os.fstat(descriptor).st_size, is_closed=is_closed)]
        finally:
            os.close(descriptor)

    def _save(self, path: str, source: Path, descriptor: int, size: int, *, is_closed: bool) -> SavedFile:
        link = source if is_closed and self._may_link else None
        return self._store.save_file(path, link, descriptor, size, is_closed=is_closed, stay=self._link.stay)


def _open(path: Path) -> int | None:
    """The descriptor of a file; None if no file has this name. Raises OSError."""
    try:
        return open_regular(path, follows_links=False)
    except OSError as error:
        if error.errno == errno.ENOENT:
            return None
        raise
