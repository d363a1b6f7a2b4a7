"""Sets aside the bytes that recovery takes out of a log, in files beside it that nothing reads.

Owns: the names `<segment>.log.removed-<ms since 1970>` and how long such files stay. Never does: deciding where a log
is damaged (log_loader.py does). Invariants: bytes are in the new file, durably, before they leave the log; one torn
batch at the end of a log, or zeros, are not set aside. Kafka ignores files of these names, as it does not know their
suffix. Source: our own; Kafka's LogLoader deletes the bytes.
"""

import logging
import re
from pathlib import Path

from odradek.protocol.records.batch import (
    ATTRIBUTES_POSITION,
    BATCH_HEADER_SIZE,
    HEADER,
    LOG_OVERHEAD,
    MAGIC,
    SMALLEST_LENGTHS,
    batch_size,
)
from odradek.protocol.records.checksum import crc32c
from odradek.protocol.records.errors import CorruptRecordError

from ..files.file_names import LOG_SUFFIX
from ..files.files import CREATE, Files
from ..segment.segment import Segment

logger = logging.getLogger(__name__)

KEPT_MS = 30 * 24 * 60 * 60 * 1000
"""How long such a file stays: the first open of its log after this time removes it."""
PIECE_BYTES = 1 << 20

_NAME = re.compile(r"\d{20}\.log\.removed-(\d+)")


def is_set_aside(name: str) -> bool:
    """Whether this is the name of such a file."""
    return _NAME.fullmatch(name) is not None


def remove_expired(files: Files, directory: Path, names: list[str], now_ms: int) -> None:
    """Removes the files of this log that were set aside more than KEPT_MS ago. Raises OSError."""
    for name in names:
        match = _NAME.fullmatch(name)
        if match is not None and int(match[1]) < now_ms - KEPT_MS:
            logger.info("%s: removed, it was set aside more than %d days ago", directory / name, KEPT_MS // 86_400_000)
            files.remove(directory / name)


def set_aside_segment(files: Files, segment: Segment, now_ms: int) -> Path:
    """Renames the log file of a segment. The caller removes its indexes and syncs the directory. Raises OSError."""
    target = _free_path(files, segment.path, now_ms)
    segment.file.forget()
    files.rename(segment.path, target)
    return target


def set_aside_tail(files: Files, segment: Segment, position: int, now_ms: int) -> Path | None:
    """Copies the bytes from `position` to the end of a segment's log, if they are more than a torn batch, and syncs.

    Returns the new file, None if there is none. Raises OSError.
    """
    source = segment.file.hold_open().fd
    if is_torn(files, source, position, segment.size):
        return None
    target = _free_path(files, segment.path, now_ms)
    descriptor = files.open(target, CREATE)
    try:
        for start in range(position, segment.size, PIECE_BYTES):
            files.write_all(descriptor, [files.read(source, PIECE_BYTES, start)], start - position)
        files.sync(descriptor)
    except OSError:
        files.remove(target)
        raise
    finally:
        files.close(descriptor)
    files.sync_directory(target.parent)
    return target


def is_torn(files: Files, descriptor: int, position: int, end: int) -> bool:
    """Whether the bytes from `position` to `end` are one incomplete or damaged batch and nothing else, or zeros."""
    head = files.read(descriptor, min(BATCH_HEADER_SIZE, end - position), position)
    try:
        size = batch_size(head)
    except CorruptRecordError:
        return not any(head) and _is_zero(files, descriptor, position, end)
    if size is None or size > end - position:
        return True
    # If the CRC of a whole last batch is right, its offset or leader epoch, which the CRC does not cover, is wrong.
    return size == end - position and not _has_crc(files, descriptor, position, size)


def _is_zero(files: Files, descriptor: int, position: int, end: int) -> bool:
    for start in range(position, end, PIECE_BYTES):
        piece = files.read(descriptor, min(PIECE_BYTES, end - start), start)
        if piece.count(0) != len(piece):
            return False
    return True


def unknown_magic_at(files: Files, descriptor: int, position: int, end: int) -> int | None:
    """The magic of a whole batch of a later message format at `position`; None if the bytes there are not one.

    Its length and CRC must be right in the layout of format 2, whose first bytes every format since Kafka 0.8 shares.
    """
    head = files.read(descriptor, BATCH_HEADER_SIZE, position)
    if len(head) < BATCH_HEADER_SIZE:
        return None
    _, length, _, magic, *_ = HEADER.unpack(head)
    size = length + LOG_OVERHEAD
    if 0 <= magic <= MAGIC or length < SMALLEST_LENGTHS[MAGIC] or size > end - position:
        return None
    return magic if _has_crc(files, descriptor, position, size) else None


def _has_crc(files: Files, descriptor: int, position: int, size: int) -> bool:
    """Whether a batch in the layout of format 2 has the CRC in its header. Reads it in pieces."""
    if size < BATCH_HEADER_SIZE:
        return False
    crc = 0
    for start in range(position + ATTRIBUTES_POSITION, position + size, PIECE_BYTES):
        crc = crc32c(files.read(descriptor, min(PIECE_BYTES, position + size - start), start), crc)
    stored: int = HEADER.unpack(files.read(descriptor, BATCH_HEADER_SIZE, position))[4]
    return crc == stored


def _free_path(files: Files, path: Path, now_ms: int) -> Path:
    """A name beside `path`, a log file, that no file has."""
    assert path.name.endswith(LOG_SUFFIX)
    while files.exists(target := path.with_name(f"{path.name}.removed-{now_ms}")):
        now_ms += 1
    return target
