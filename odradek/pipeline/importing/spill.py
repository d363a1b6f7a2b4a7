"""Spills the rows of a part of the input, sorted by partition, to an Arrow file. Also reads them back by partition.

A task writes one file. It has a record batch for each partition in each chunk of rows. The task that writes a partition
later maps these files into memory and reads only the batches of its partition. Memory: one chunk.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import pyarrow as pa
import pyarrow.compute

from ..engine.job import task_error, writing
from .input_rows import ImportSizes, read_part
from .inputs import ImportRefusedError, InputPart
from .partitioning import partitions_of
from .row_buffers import ROW_SCHEMA

NOTHING_IMPORTED = "nothing was imported, and the files of this import were removed"


@dataclass(frozen=True, slots=True)
class SpillTask:
    """One task: the part to read, and the directory for its file. `topic` and `partitions` override input columns.

    `partitions`: the number of partitions over which to spread rows by their keys.
    """

    part: InputPart
    directory: Path
    topic: str | None
    partitions: int | None
    keeps_offsets: bool
    is_base64: bool
    now_ms: int
    sizes: ImportSizes


class SpilledRows(NamedTuple):
    """One record batch in a spill file. `first_offset` and `last_offset` are -1 if rows get new offsets."""

    topic: str
    partition: int
    part: int
    path: str
    batch: int
    records: int
    size: int
    """The bytes of the batch in memory."""
    first_offset: int
    last_offset: int


def spill(task: SpillTask) -> list[SpilledRows]:
    """Writes the rows of the part. Returns the batches of each partition. Raises ImportRefusedError, TaskError."""
    path = task.directory / f"{task.part.number:08d}.arrow"
    spilled: list[SpilledRows] = []
    rows_before = task.part.number
    with (
        writing(task.directory.parent, NOTHING_IMPORTED),
        pa.OSFile(str(path), "wb") as sink,
        pa.ipc.new_file(sink, ROW_SCHEMA) as writer,
    ):
        for batch in _batches(task):
            for topic, partition, rows in _by_partition(batch, task, rows_before):
                first, last = _bounds(rows) if task.keeps_offsets else (-1, -1)
                writer.write_batch(rows)
                place = (topic, partition, task.part.number, str(path), len(spilled))
                spilled.append(SpilledRows(*place, rows.num_rows, rows.nbytes, first, last))
            rows_before += batch.num_rows
    return spilled


def _batches(task: SpillTask) -> Iterator[Any]:
    """The rows of the part. Raises ImportRefusedError; TaskError if the input can't be read."""
    try:
        yield from read_part(task.part, task.sizes, is_base64=task.is_base64, now_ms=task.now_ms)
    except OSError as error:
        raise task_error(str(task.part.path), error) from error


def _bounds(rows: Any) -> tuple[int, int]:
    offsets = rows.column("offset").to_numpy()
    return int(offsets[0]), int(offsets[-1])


def _by_partition(batch: Any, task: SpillTask, rows_before: int) -> Iterator[tuple[str, int, Any]]:
    """Yields (topic, partition, its rows). Rows are in the order of the input, or of offsets if these are kept."""
    if not batch.num_rows:
        return
    topics = _topics(batch, task)
    if task.partitions is not None:
        partitions = partitions_of(batch.column("key"), task.partitions, rows_before)
    elif batch.column("partition").null_count:
        raise ImportRefusedError(
            f"{task.part.path} has rows without a partition; --partitions N assigns them by their keys"
        )
    else:
        partitions = batch.column("partition").to_numpy().astype(numpy.int64)
    rows = pa.RecordBatch.from_arrays([batch.column(name) for name in ROW_SCHEMA.names], schema=ROW_SCHEMA)
    sort_columns = [partitions, topics.indices.to_numpy()]
    if task.keeps_offsets:
        if rows.column("offset").null_count:
            raise ImportRefusedError(f"{task.part.path} has rows without an offset; --offsets new numbers them")
        sort_columns.insert(0, rows.column("offset").to_numpy())
    else:
        rows = rows.set_column(0, ROW_SCHEMA.field("offset"), pa.array(numpy.zeros(rows.num_rows, numpy.int64)))
    order = numpy.lexsort(sort_columns)
    if not numpy.array_equal(order, numpy.arange(len(order))):
        rows = rows.take(pa.array(order))
        partitions = partitions[order]
        topics = topics.take(pa.array(order))
    codes = topics.indices.to_numpy()
    cuts = numpy.flatnonzero((numpy.diff(partitions) != 0) | (numpy.diff(codes) != 0)) + 1
    starts = [0, *cuts.tolist(), rows.num_rows]
    for start, end in pairwise(starts):
        topic = topics.dictionary[int(codes[start])].as_py()
        yield topic, int(partitions[start]), rows.slice(start, end - start)


def _topics(batch: Any, task: SpillTask) -> Any:
    if task.topic is not None:
        indices = pa.array(numpy.zeros(batch.num_rows, numpy.int32))
        return pa.DictionaryArray.from_arrays(indices, pa.array([task.topic]))
    if batch.column("topic").null_count:
        raise ImportRefusedError(f"{task.part.path} has rows without a topic; set it with --topic NAME")
    return pa.compute.dictionary_encode(batch.column("topic"))


def read_spilled(spilled: Sequence[SpilledRows], sizes: ImportSizes, *, keeps_offsets: bool) -> Iterator[Any]:
    """Yields the rows of one partition as record batches of ROW_SCHEMA with rising offsets, some megabytes each.

    Raises ImportRefusedError if two rows have the same offset.
    """
    place = spilled[0]
    ordered = sorted(spilled, key=lambda rows: (rows.first_offset, rows.part, rows.batch))
    next_offset = 0
    for group in _groups(ordered, sizes, is_disjoint=not keeps_offsets):
        rows = pa.Table.from_batches([_open(file) for file in group]).combine_chunks()
        if keeps_offsets:
            rows = _sorted_by_offset(rows)
            offsets = rows.column("offset").to_numpy()
            twice = numpy.flatnonzero(numpy.diff(offsets) <= 0)
            if len(twice) or offsets[0] < next_offset:
                wrong = int(offsets[twice[0]]) if len(twice) else int(offsets[0])
                raise ImportRefusedError(
                    f"{place.topic}-{place.partition}: two rows of the input have offset {wrong}; --offsets new "
                    "assigns new offsets"
                )
            next_offset = int(offsets[-1]) + 1
        else:
            numbers = pa.array(numpy.arange(next_offset, next_offset + rows.num_rows))
            rows = rows.set_column(0, ROW_SCHEMA.field("offset"), numbers)
            next_offset += rows.num_rows
        yield from rows.to_batches()


def _groups(ordered: Sequence[SpilledRows], sizes: ImportSizes, *, is_disjoint: bool) -> Iterator[list[SpilledRows]]:
    """Groups consecutive batches up to `group_rows` or `group_bytes`.

    Batches whose offsets overlap are in the same group; `is_disjoint` says that none overlap.
    """
    group: list[SpilledRows] = []
    records, size, highest = 0, 0, -1
    for file in ordered:
        is_full = records >= sizes.group_rows or size >= sizes.group_bytes
        if is_full and (is_disjoint or file.first_offset > highest):
            yield group
            group, records, size = [], 0, 0
        group.append(file)
        records += file.records
        size += file.size
        highest = max(highest, file.last_offset)
    if group:
        yield group


def _open(rows: SpilledRows) -> Any:
    with pa.memory_map(rows.path) as source:
        return pa.ipc.open_file(source).get_batch(rows.batch)


def _sorted_by_offset(rows: Any) -> Any:
    offsets = rows.column("offset").to_numpy()
    if numpy.all(offsets[1:] > offsets[:-1]):
        return rows
    return rows.take(pa.array(numpy.argsort(offsets, kind="stable"))).combine_chunks()
