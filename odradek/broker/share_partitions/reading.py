"""Reads record batches of one partition for a share group, as many as its member asks for.

Pure but for the given log. Owns: nothing. Never does: giving records away. Source: ``ShareFetchUtils``,
``DelayedShareFetch``, which read up to the limit of bytes and send what was acquired.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from odradek.protocol.records.batch import BatchHeader, iterate_headers
from odradek.storage.log.log import Log
from odradek.storage.log.read_result import in_memory

from .acquire import Acquired, Span

CHUNK_BYTES = 256 << 10
"""A read stops after this many bytes if it has as many records as are wanted. So a member that wants one record does
not make the broker read the 50 MiB that its fetch allows."""


class ReadBatch(NamedTuple):
    """One record batch, with its position in the bytes that were read."""

    position: int
    header: BatchHeader

    @property
    def span(self) -> Span:
        """Its offsets."""
        return Span(self.header.base_offset, self.header.last_offset)


@dataclass(slots=True)
class ShareRead:
    """Record batches that were read from ``fetch_offset`` on, without the last one if it is cut."""

    fetch_offset: int
    data: bytes
    batches: list[ReadBatch]

    def __len__(self) -> int:
        """The number of offsets from ``fetch_offset`` to the last batch; 0 if nothing was read."""
        return self.batches[-1].span.last - self.fetch_offset + 1 if self.batches else 0

    @property
    def spans(self) -> list[Span]:
        """The offsets of the batches."""
        return [batch.span for batch in self.batches]

    def records_of(self, acquired: Sequence[Acquired]) -> bytes:
        """The batches from the first to the last acquired record."""
        first, last = acquired[0].first, acquired[-1].last
        wanted = [batch for batch in self.batches if batch.span.last >= first and batch.span.first <= last]
        if not wanted:
            return b""
        end = wanted[-1].position + wanted[-1].header.size_in_bytes
        return self.data[wanted[0].position : end]


def read_for_share(
    log: Log, fetch_offset: int, bound: int, max_bytes: int, max_records: int, *, min_one_batch: bool
) -> ShareRead:
    """Reads from an offset up to ``bound`` (exclusive), until there are ``max_records`` or ``max_bytes``.

    ``min_one_batch``: the first batch is read even if it is larger. Raises KafkaError, as :meth:`Log.read`.
    """
    data = bytearray()
    batches: list[ReadBatch] = []
    offset, records = fetch_offset, 0
    while offset < bound and records < max_records and len(data) < max_bytes:
        wanted_bytes = min(CHUNK_BYTES, max_bytes - len(data))
        needs_one = min_one_batch and not batches
        # A chunk that is smaller than the next batch would give nothing although the limit allows the batch.
        result = log.read(offset, wanted_bytes, upper_bound_offset=bound, min_one_batch=needs_one)
        chunk = in_memory(result.data)
        found = [ReadBatch(len(data) + at, header) for at, header in whole_batches(chunk)]
        if not found and wanted_bytes < max_bytes - len(data):
            result = log.read(offset, max_bytes - len(data), upper_bound_offset=bound, min_one_batch=False)
            chunk = in_memory(result.data)
            found = [ReadBatch(len(data) + at, header) for at, header in whole_batches(chunk)][:1]
        if not found:
            break
        end = found[-1].position + found[-1].header.size_in_bytes - len(data)
        data += chunk[:end]
        batches += found
        records += sum(batch.span.last - max(batch.span.first, fetch_offset) + 1 for batch in found)
        offset = found[-1].span.last + 1
    return ShareRead(fetch_offset, bytes(data), batches)


def whole_batches(data: bytes) -> list[tuple[int, BatchHeader]]:
    """The batches of a read that are whole, with their positions."""
    return [(at, header) for at, header in iterate_headers(data) if at + header.size_in_bytes <= len(data)]


def aborted_spans(log: Log, read: ShareRead) -> list[Span]:
    """The batches of a read that belong to aborted transactions."""
    aborted = log.aborted_in_read(read.fetch_offset, len(read.data))
    if not aborted:
        return []
    return [
        batch.span
        for batch in read.batches
        if batch.header.is_transactional
        and not batch.header.is_control
        and any(
            one.producer_id == batch.header.producer_id and one.first_offset <= batch.span.first <= one.last_offset
            for one in aborted
        )
    ]
