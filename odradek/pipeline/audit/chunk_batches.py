"""The batches of one chunk as columns, with the position of each in its file: the input of the checks of batches.

Pure. Every column has one number for each batch.
"""

from typing import NamedTuple

import numpy

from odradek.protocol.records.batch import MAGIC
from odradek.protocol.records.compression import CompressionType

from ..decode.checked_headers import CheckedHeaders
from ..decode.spans import Flags, Int64s
from ..directories.segment_files import SegmentFile
from .tasks import PartitionReport

TRANSACTIONAL, CONTROL, DELETE_HORIZON = 0x10, 0x20, 0x40
KNOWN_ATTRIBUTES = 0x7F
CODECS = len(CompressionType)


class BatchLocation(NamedTuple):
    """Where a batch is: the path of its segment, the position in bytes, and the first offset that matters."""

    file: str
    position: int
    offset: int


class ChunkBatches:
    """Columns of the chunk's headers. `is_sound`: whether the CRC of each batch is right."""

    __slots__ = (
        "attributes",
        "bases",
        "chunk",
        "codecs",
        "control_batches",
        "counts",
        "deltas",
        "epochs",
        "is_append_time",
        "is_control",
        "is_legacy",
        "is_sound",
        "lasts",
        "max_timestamps",
        "places",
        "producers",
        "report",
        "segment",
        "sizes",
    )

    def __init__(self, segment: SegmentFile, checked: CheckedHeaders, report: PartitionReport) -> None:
        chunk = checked.headers
        self.segment = segment
        self.chunk = chunk
        self.is_sound = checked.matches
        self.control_batches = checked.control_batches
        self.report = report
        self.places = chunk.places
        self.sizes = chunk.disk_sizes
        self.bases = chunk.column("base_offset")
        self.deltas = chunk.column("last_offset_delta")
        self.lasts = self.bases + self.deltas
        self.counts = chunk.column("records_count")
        self.epochs = chunk.column("partition_leader_epoch")
        self.max_timestamps = chunk.column("max_timestamp")
        self.producers = chunk.column("producer_id")
        self.attributes = chunk.column("attributes")
        self.codecs = self.attributes & 7
        self.is_append_time: Flags = (self.attributes & 8) != 0
        self.is_legacy: Flags = chunk.column("magic") < MAGIC
        self.is_control: Flags = (self.attributes & CONTROL) != 0

    def __len__(self) -> int:
        return len(self.places)

    @property
    def has_data(self) -> Flags:
        """A flag for each batch: whether it has records of producers, not control records."""
        has_data: Flags = (self.counts > 0) & ~self.is_control
        return has_data

    def counts_from(self, offset: int) -> Int64s:
        """The number of records of producers that each batch has from `offset` on.

        Exact, except for a batch with gaps that begins before `offset` and ends after it.
        """
        counts = numpy.minimum(self.counts, numpy.maximum(self.lasts - offset + 1, 0))
        return numpy.where(self.is_control, 0, counts)

    def found(self, name: str, index: int, detail: str) -> None:
        """Reports a finding about one batch."""
        place, offset = int(self.places[index]), int(self.bases[index])
        self.report.add(name, self.segment.path, detail, position=place, offset=offset)
