"""The task that writes one partition of an import: its input, and the function that runs it."""

from dataclasses import dataclass
from pathlib import Path

from odradek.protocol.records.compression import CompressionType

from .batches import encode_rows
from .partition_files import PartitionFiles, WrittenPartition
from .sizes import ImportSizes
from .spill import SpilledRows, read_spilled


@dataclass(frozen=True, slots=True)
class ImportTask:
    """A partition to be written into `directory`. Sizes are bytes."""

    topic: str
    partition: int
    directory: Path
    spilled: tuple[SpilledRows, ...]
    topic_id: bytes
    keeps_offsets: bool
    compression: CompressionType
    segment_bytes: int
    batch_bytes: int
    sizes: ImportSizes


def write_partition(task: ImportTask) -> WrittenPartition:
    """Writes the partition durably. Raises ImportRefusedError, OSError."""
    written = WrittenPartition(task.topic, task.partition)
    output = PartitionFiles(task.directory, written, task.segment_bytes)
    if task.spilled:
        for rows in read_spilled(task.spilled, task.sizes, keeps_offsets=task.keeps_offsets):
            output.append(encode_rows(rows, task.compression, task.batch_bytes))
    output.close(task.topic_id)
    return written
