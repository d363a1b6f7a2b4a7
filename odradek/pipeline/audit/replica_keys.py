"""Compares the keys of two replicas of a compacted partition in the part that each broker cleaned independently.

A record may be in only one replica if the other has a later record of its key. Compaction may also remove it because it
is a tombstone, has a null key, or belongs to an aborted transaction. Memory: MOST_CANDIDATES records, with their
keys as hashes. Further records are not compared. Source: the cleaner's rules (Kafka's Cleaner).
"""

from collections.abc import Iterator

import numpy

from odradek.storage.errors import CorruptIndexError
from odradek.storage.files.file_names import TRANSACTION_INDEX_SUFFIX
from odradek.storage.segment.transaction_index import TransactionIndex

from ..decode.batch_table import BatchTable
from ..decode.damage import Damage
from ..decode.records import walk_chunk
from ..decode.segment_chunks import read_chunks
from ..decode.spans import Flags, Int64s
from ..directories.file_access import read_file
from ..directories.log_directories import PartitionDirectory
from ..directories.segment_files import indexed_positions
from .findings import Finding
from .key_tables import hash_keys

MOST_CANDIDATES = 1 << 20


def missing_keys(
    one: PartitionDirectory, other: PartitionDirectory, start: int, cleaned_to: int, end: int
) -> list[Finding]:
    """Finds records of `one` in `[start, cleaned_to)` for which `other` has no record of the same key.

    The other record may be at the same offset or later, before `end`.
    """
    hashes, offsets = _keys(one, start, cleaned_to)
    order = numpy.argsort(hashes, kind="stable")
    hashes, offsets = hashes[order], offsets[order]
    latest = numpy.full(len(hashes), -1, numpy.int64)
    for found_hashes, found_offsets, _ in _records(other, start, end):
        low = numpy.searchsorted(hashes, found_hashes, side="left")
        high = numpy.searchsorted(hashes, found_hashes, side="right")
        for slot in range(int((high - low).max(initial=0))):
            hit = low + slot < high
            numpy.maximum.at(latest, (low + slot)[hit], found_offsets[hit])
    lost = numpy.flatnonzero(latest < offsets)
    if not len(lost):
        return []
    offset = int(offsets[lost].min())
    detail = (
        f"{len(lost)} records of {one.path}, the first at offset {offset}, have no record of the same key at or after "
        f"that offset in {other.path}"
    )
    return [Finding("replica-keys-missing", one.topic, one.partition, str(other.path), -1, offset, detail)]


def _keys(replica: PartitionDirectory, start: int, end: int) -> tuple[Int64s, Int64s]:
    """Hashes and offsets of the records with key and value, up to MOST_CANDIDATES."""
    hashes, offsets, count = [numpy.zeros(0, numpy.int64)], [numpy.zeros(0, numpy.int64)], 0
    for found_hashes, found_offsets, has_value in _records(replica, start, end):
        hashes.append(found_hashes[has_value])
        offsets.append(found_offsets[has_value])
        count += len(hashes[-1])
        if count >= MOST_CANDIDATES:
            break
    return numpy.concatenate(hashes), numpy.concatenate(offsets)


def _records(replica: PartitionDirectory, start: int, end: int) -> Iterator[tuple[Int64s, Int64s, Flags]]:
    """Columns (hash of the key, offset, has a value) of the records with a key that read_committed consumers get."""
    aborted = _aborted(replica)
    for segment in replica.segments:
        if segment.base_offset >= end:
            break
        for chunk in read_chunks(segment.path, batch_positions=indexed_positions(segment), inode=segment.inode):
            if isinstance(chunk, Damage):
                continue
            selected = _selected(chunk, start, end, aborted)
            for item in walk_chunk(chunk, selected):
                if isinstance(item, Damage):
                    continue
                spans = item.spans
                rows = numpy.flatnonzero(~spans.keys.is_null & (spans.offsets >= start) & (spans.offsets < end))
                yield hash_keys(item.payload, spans.keys, rows), spans.offsets[rows], ~spans.values.is_null[rows]


def _selected(chunk: BatchTable, start: int, end: int, aborted: Int64s) -> Flags:
    bases = chunk.column("base_offset")
    selected: Flags = ~chunk.is_control & (chunk.last_offsets >= start) & (bases < end) & chunk.crc_matches()
    producers = chunk.column("producer_id")
    for index in numpy.flatnonzero(selected & ((chunk.column("attributes") & 0x10) != 0)).tolist():
        producer_id, first, last = aborted
        selected[index] = not (
            (producer_id == producers[index]) & (first <= bases[index]) & (bases[index] < last)
        ).any()
    return selected


def _aborted(replica: PartitionDirectory) -> Int64s:
    """Producer id, first and last offset of each aborted transaction, as three rows."""
    entries = []
    for segment in replica.segments:
        path = segment.beside(TRANSACTION_INDEX_SUFFIX)
        try:
            entries += TransactionIndex(segment.base_offset, read_file(path)).entries
        except (OSError, CorruptIndexError):
            continue  # the audit of the partition reports it
    columns: Int64s = numpy.array([entry[:3] for entry in entries], numpy.int64).reshape(-1, 3).T
    return columns
