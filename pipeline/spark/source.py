"""The data source ``kafkalog``: ``spark.read.format("kafkalog").load(DIR)`` reads log directories without a broker.

One row for each record of the data batches (control batches are left out, aborted transactions are not, as for a
consumer with read_uncommitted). A batch that can't be read never ends a PERMISSIVE job: it becomes a row whose
`_corrupt_record` says where and what; without that column (`.schema`) it is left out. FAILFAST ends the job there. A
torn last batch of an active segment is what a killed broker leaves, no damage. Splits lie along segments and, through
the offset index, inside them. Source: pyspark.sql.datasource; docs/pipeline.md.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from ..decode.damage import Damage, DamageKind
from ..log_directories import PartitionDirectory, find_partitions, indexed_positions, split_segment
from .columns import CORRUPT_COLUMN, SPARK_COLUMNS
from .options import ReadOptions, parse_options

CHUNK_BYTES = 1 << 20  # 64 KiB and 16 MiB are both slower through Spark's Arrow hop


class CorruptLogError(Exception):
    """A batch that can't be read, in mode FAILFAST; the text names file, position and offset."""


@dataclass
class LogSplit(InputPartition):
    """Bytes `[start, end)` of a segment, offsets `[first_offset, end_offset)` of it; what one Spark task reads."""

    topic: str
    partition: int
    path: str
    start: int
    end: int
    first_offset: int
    end_offset: int
    is_active: bool
    batch_positions: list[int]


class KafkaLogDataSource(DataSource):
    """The data source; options are described in options.py."""

    @classmethod
    def name(cls) -> str:
        """``kafkalog``."""
        return "kafkalog"

    def schema(self) -> str:
        """All columns; FAILFAST has no need of `_corrupt_record`."""
        left_out = CORRUPT_COLUMN if parse_options(self.options).is_fail_fast else ""
        return ", ".join(f"`{name}` {kind}" for name, kind in SPARK_COLUMNS.items() if name != left_out)

    def reader(self, schema: StructType) -> "KafkaLogReader":
        """A reader of the columns in `schema`: a user's own schema is a projection."""
        for field in schema.fields:
            if SPARK_COLUMNS.get(field.name) != field.dataType.simpleString():
                known = ", ".join(f"{name} {kind}" for name, kind in SPARK_COLUMNS.items())
                raise ValueError(f"kafkalog has no column {field.name} {field.dataType.simpleString()}; it has {known}")
        return KafkaLogReader(parse_options(self.options), schema.fieldNames())


class KafkaLogReader(DataSourceReader):
    """Plans splits on the driver, reads them on executors."""

    def __init__(self, options: ReadOptions, names: Sequence[str]) -> None:
        self.options = options
        self.names = list(names)

    def partitions(self) -> Sequence[InputPartition]:
        """One split for each segment, or more where a segment is larger than maxPartitionBytes."""
        splits: list[InputPartition] = []
        for path in self.options.paths:
            for found in find_partitions(path, self.options.topics):
                if self.options.topics is not None or not found.topic.startswith("__"):
                    splits += self._splits(found)
        return splits

    def _splits(self, found: PartitionDirectory) -> Iterator[LogSplit]:
        first = self.options.starting_offsets.get(found.topic, {}).get(found.partition, 0)
        end = self.options.ending_offsets.get(found.topic, {}).get(found.partition, (1 << 63) - 1)
        for index, segment in enumerate(found.segments):
            is_active = index + 1 == len(found.segments)
            if segment.base_offset >= end or (not is_active and found.segments[index + 1].base_offset <= first):
                continue
            positions = indexed_positions(segment)
            for part in split_segment(segment, positions, self.options.max_partition_bytes):
                inside = [position for position in positions if part.start < position < part.end]
                yield LogSplit(
                    found.topic,
                    found.partition,
                    str(segment.path),
                    part.start,
                    part.end,
                    first,
                    end,
                    is_active and part.end == segment.size,
                    inside,
                )

    def read(self, partition: InputPartition | None) -> Iterator[Any]:
        """Record batches of a split; an empty plan has the split None."""
        if partition is None:
            return iter(())
        assert isinstance(partition, LogSplit)
        return read_split(partition, self.names, is_fail_fast=self.options.is_fail_fast)


def read_split(split: LogSplit, names: list[str], *, is_fail_fast: bool) -> Iterator[Any]:
    """The rows of a split as Arrow record batches. Raises CorruptLogError with `is_fail_fast`, OSError."""
    from .columns import corrupt_row, to_spark

    for item in _decoded(split):
        if not isinstance(item, Damage):
            yield to_spark(item, names, split.topic, split.partition)
            continue
        if item.kind is DamageKind.INCOMPLETE and split.is_active and item.position + item.size >= split.end:
            continue
        message = f"{item.kind}: {split.path}: {item.message}"
        if is_fail_fast:
            raise CorruptLogError(message)
        if CORRUPT_COLUMN in names:
            yield corrupt_row(names, split.topic, split.partition, item.base_offset, message)


def _decoded(split: LogSplit) -> Iterator[Any]:
    """Record batches of RECORD_SCHEMA, and damage in between."""
    from pathlib import Path

    import pyarrow as pa

    from ..decode.records import check_crcs, decode_chunk
    from ..decode.segment_chunks import read_chunks

    chunks = read_chunks(
        Path(split.path),
        start=split.start,
        end=split.end,
        batch_positions=split.batch_positions,
        chunk_bytes=CHUNK_BYTES,
    )
    for chunk in chunks:
        if isinstance(chunk, Damage):
            yield chunk
            continue
        wanted = (chunk.last_offsets >= split.first_offset) & (chunk.column("base_offset") < split.end_offset)
        matches, damage = check_crcs(chunk)
        yield from damage
        for item in decode_chunk(chunk, wanted & matches & ~chunk.is_control):
            if isinstance(item, Damage):
                yield item
                continue
            offsets = item.columns.column("offset").to_numpy()
            inside = (offsets >= split.first_offset) & (offsets < split.end_offset)
            yield item.columns if inside.all() else item.columns.filter(pa.array(inside))
