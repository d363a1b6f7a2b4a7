"""The file of a segment's batches: its logical size, its descriptor, writes at its end, walks over its batches.

Owns: the file's name and size. Never does: knowing indexes, offsets or when to write. Invariant: bytes after `size` are
garbage and are cut off before the next write. Source: Kafka's FileRecords.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from odradek.protocol.records.batch import BatchHeader
from odradek.protocol.records.errors import CorruptRecordError

from ..files.descriptors import Descriptor, DescriptorCache
from ..files.disk_errors import lacks_descriptors
from ..files.file_names import LOG_SUFFIX, segment_path
from ..files.files import CREATE, EXISTING, Buffer
from .batch_scan import BatchPlace, scan_batches, scan_headers, scan_places


class BatchFile:
    """The log file of a segment; `size` is in bytes. Every method that touches the disk raises OSError."""

    __slots__ = (
        "_descriptor",
        "_descriptors",
        "_tail_is_dirty",
        "base_offset",
        "directory",
        "files",
        "name_suffix",
        "path",
        "size",
    )

    def __init__(
        self, directory: Path, base_offset: int, size: int, descriptors: DescriptorCache, name_suffix: str
    ) -> None:
        """The file has `size` bytes. `name_suffix` is appended to the names of the segment's files."""
        self.directory = directory
        self.base_offset = base_offset
        self.size = size
        self.name_suffix = name_suffix
        self.path = segment_path(directory, base_offset, LOG_SUFFIX + name_suffix)
        self.files = descriptors.files
        self._descriptors = descriptors
        self._descriptor: Descriptor | None = None
        self._tail_is_dirty = False

    def create(self) -> None:
        """Creates the file, or empties one that an earlier segment of that name left."""
        self.files.truncate(self._descriptors.get(self.path, CREATE).fd, 0)

    def index_path(self, suffix: str) -> Path:
        """The path of one of the segment's indexes."""
        return segment_path(self.directory, self.base_offset, suffix)

    # Writing -----------------------------------------------------------------

    def hold_open(self) -> Descriptor:
        """The file's descriptor. Call its `hold` to use it beyond the next call into storage."""
        descriptor = self._descriptor
        if descriptor is None or descriptor.fd < 0:
            descriptor = self._descriptor = self._descriptors.get(self.path, EXISTING)
        return descriptor

    def try_hold(self) -> Descriptor | None:
        """The file's descriptor with one more holder; None if too many files are held, or no descriptor is left."""
        descriptor = self._descriptor
        if not self._descriptors.may_hold and (descriptor is None or not descriptor.is_held):
            return None
        try:
            return self.hold_open().hold()
        except OSError as error:
            if lacks_descriptors(error):
                return None
            raise

    def write(self, parts: Sequence[Buffer], size: int) -> int:
        """Writes batches, given as parts of `size` bytes in total. Returns the position where they begin.

        If it raises OSError, the file is unchanged: bytes that the system took are cut off again.
        """
        if self._tail_is_dirty:
            self.cut_garbage()
        fd = self.hold_open().fd
        position = self.size
        files = self.files
        try:
            written = files.write(fd, parts, position)
            if written != size:
                files.write_all(fd, [b"".join(bytes(part) for part in parts)[written:]], position + written)
        except OSError:
            self.fail_write()
            raise
        self.size = position + size
        return position

    def begin_write(self) -> tuple[Descriptor, int]:
        """Prepares a write at the end. Returns (the file, the position).

        For callers that write themselves; they call `end_write` or `fail_write` afterwards.
        """
        descriptor = self.hold_open()
        if self._tail_is_dirty:
            self.cut_garbage()
        return descriptor, self.size

    def end_write(self, size: int) -> None:
        """Adds `size` written bytes."""
        self.size += size

    def fail_write(self) -> None:
        """Cuts off the bytes of a failed write. If that fails too, the next write does it."""
        self._tail_is_dirty = True
        try:
            self.cut_garbage()
        except OSError:
            return  # `_tail_is_dirty` stays set

    def cut_garbage(self) -> None:
        """Cuts off what a failed write left after the last batch."""
        if self._tail_is_dirty:
            self.files.truncate(self.hold_open().fd, self.size)
            self._tail_is_dirty = False

    def begin_cut(self, size: int) -> None:
        """Sets `size` to a batch boundary, in memory only. The caller updates the indexes and cuts the file on the
        disk.

        If the file was not cut before the next write, that write cuts it first.
        """
        self.size = size
        self._tail_is_dirty = True

    def cut_durably(self, size: int) -> None:
        """Cuts the file at a batch boundary that recovery found, and syncs it. The caller updates the indexes."""
        self.files.truncate(self.hold_open().fd, size)
        self.files.sync(self.hold_open().fd)
        self.size = size

    # Names -------------------------------------------------------------------

    def forget(self) -> None:
        """Releases the descriptor without writing anything."""
        self._descriptor = None
        self._descriptors.forget(self.path)

    def use_descriptors(self, descriptors: DescriptorCache) -> None:
        """Opens the file through another cache from now on. The file must not be open."""
        self._descriptors = descriptors

    def drop_name_suffix(self) -> None:
        """Notes that the segment's files now have their final names."""
        self.forget()
        self.name_suffix = ""
        self.path = segment_path(self.directory, self.base_offset, LOG_SUFFIX)

    def move_to(self, directory: Path) -> None:
        """Follows a rename of the partition's directory."""
        self.forget()
        self.directory = directory
        self.path = directory / self.path.name

    # Reading -----------------------------------------------------------------

    def places(self, position: int) -> Iterator[BatchPlace]:
        """The place of each batch from `position`, a batch's start, on. Raises CorruptRecordError."""
        if position < self.size:
            try:
                yield from scan_places(self.files, self.hold_open().fd, position, self.size)
            except CorruptRecordError as damage:
                raise CorruptRecordError(f"{self.path}: {damage.message}") from damage

    def headers(self, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
        """(position, header) of each batch from `position`, a batch's start, on. Raises CorruptRecordError."""
        if position < self.size:
            try:
                yield from scan_headers(self.files, self.hold_open().fd, position, self.size)
            except CorruptRecordError as damage:
                raise CorruptRecordError(f"{self.path}: {damage.message}") from damage

    def batches(self, position: int = 0) -> Iterator[tuple[int, BatchHeader, memoryview]]:
        """(position, header, bytes) of each batch from `position`, a batch's start, on. Raises CorruptRecordError."""
        return scan_batches(self.files, self.hold_open().fd, position, self.size)

    def read_bytes(self, position: int, size: int) -> bytes:
        """`size` bytes, from `position` on."""
        return self.files.read(self.hold_open().fd, size, position)

    def modified_ms(self) -> int:
        """When the file was last written, ms since 1970."""
        return self.files.modified_ms(self.path)
