"""Uses the data source's readers as Spark's workers do, without a JVM: plan, pickle, read."""

import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader
from pyspark.sql.types import StructType

from odradek.pipeline.spark.source import KafkaLogDataSource
from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.record import Record, decode_records


def data_records(partition: Path) -> list[Record]:
    """The records of a partition's data batches, by the decoder in `protocol/`."""
    records = []
    for path in sorted(partition.glob("*.log")):
        data = path.read_bytes()
        for position, header in iterate_headers(data):
            records += [] if header.is_control else decode_records(data, header, position)
    return records


def data_source(path: Path | str, options: Mapping[str, Any]) -> KafkaLogDataSource:
    return KafkaLogDataSource({"path": str(path), **{name: str(value) for name, value in options.items()}})


def batch_reader(path: Path | str, *names: str, **options: Any) -> DataSourceReader:
    """A reader of all columns, or of the given ones."""
    source = data_source(path, options)
    return source.reader(projected(source.schema(), names))


def stream_reader(path: Path | str, *names: str, **options: Any) -> Any:
    source = data_source(path, options)
    return source.streamReader(projected(source.schema(), names))


def projected(schema: StructType, names: Sequence[str]) -> StructType:
    return StructType([schema[name] for name in names]) if names else schema


def rows_of(reader: DataSourceReader | DataSourceStreamReader, tasks: Sequence[Any]) -> list[dict[str, Any]]:
    """The rows of the tasks, read after reader and tasks were pickled."""
    far = pickle.loads(pickle.dumps(reader))
    tables = [pa.Table.from_batches([batch]) for task in pickle.loads(pickle.dumps(tasks)) for batch in far.read(task)]
    return [row for table in tables for row in table.to_pylist()]


def read_rows(path: Path | str, *names: str, **options: Any) -> list[dict[str, Any]]:
    """The rows of a batch read."""
    reader = batch_reader(path, *names, **options)
    return rows_of(reader, list(reader.partitions()))


def offsets_of(rows: Sequence[Mapping[str, Any]]) -> list[int]:
    return [row["offset"] for row in rows]
