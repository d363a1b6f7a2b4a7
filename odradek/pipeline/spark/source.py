"""The data source ``kafkalog``: ``spark.read.format("kafkalog").load(DIR)`` reads log directories without a broker.

One row for each record, with the columns of Spark's Kafka source; the option `view` selects other tables. A split is a
segment, or a part of one between positions of the offset index. In mode PERMISSIVE, bytes that can't be read never end
a job: they become a row with the place and the fault in `_corrupt_record`. Source: pyspark.sql.datasource;
docs/spark.md.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, Filter, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from odradek.protocol.common.lazy_imports import lazy_imports

from ..reading.columns import ARROW_TYPES, arrow_schema, column_names
from ..reading.options import RECORDS, Mode, Pruning, ReadOptions, parse_options
from ..reading.split_reader import Reading, read_split, unread_rows
from ..reading.splits import LogSplit, UnreadPartition, expand_paths, plan_records
from .filters import prune
from .portion import items_of, portions

with lazy_imports:
    from ..tables import registry
    from . import stream, views


class KafkaLogDataSource(DataSource):
    """The data source. options.py describes its options."""

    @classmethod
    def name(cls) -> str:
        """The name of the format, ``kafkalog``."""
        return "kafkalog"

    def schema(self) -> StructType:
        """The columns of the view if the user gives no schema."""
        return from_arrow_schema(_default_schema(parse_options(self.options, is_stream=None)))

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the columns in `schema`. A schema given by the user selects columns."""
        options = parse_options(self.options)
        names = _projected(schema, options)
        if options.view != RECORDS:
            return views.TableReader(options, names)
        return FilteringReader(options, names) if options.is_pushing_filters else RecordReader(options, names)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  (pyspark's name)
        """A reader that follows the logs of a running broker."""
        options = parse_options(self.options, is_stream=True)
        if options.view != RECORDS:
            raise ValueError(f"a stream can only read the view {RECORDS}, not {options.view}")
        return stream.StreamReader(options, _projected(schema, options))


class RecordReader(DataSourceReader):
    """Plans splits on the driver, and reads them on executors."""

    def __init__(self, options: ReadOptions, names: Sequence[str]) -> None:
        self.options = options
        self.names = tuple(names)
        self.pruning = Pruning()

    def partitions(self) -> Sequence[InputPartition]:
        """The inputs of the tasks."""
        plan = plan_records(self.options, self.pruning)
        return portions([*plan.tasks, *((unread,) for unread in plan.unread)])

    def read(self, partition: InputPartition | None) -> Iterator[Any]:
        """Yields record batches of the task's splits. `partition` is None for an empty plan."""
        options = self.options
        first = self.pruning.first_timestamp
        reading = Reading(self.names, options.mode, options.is_committed_only, first, decoding=options.decoding)
        for item in items_of(partition):
            if isinstance(item, UnreadPartition):
                yield from unread_rows(item, reading)
            else:
                assert isinstance(item, LogSplit)
                yield from read_split(item, reading)


class FilteringReader(RecordReader):
    """A RecordReader that gets the filters of the query from Spark, and skips what they exclude.

    A separate class, because Spark refuses a reader with pushFilters if spark.sql.python.filterPushdown.enabled is off.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802  (pyspark's name)
        """Stores what need not be read. Returns all filters, so that Spark applies them again."""
        self.pruning = prune(filters)
        return filters


def _default_schema(options: ReadOptions) -> Any:
    if options.view != RECORDS:
        return views.view_schema(options)
    names = column_names(
        has_headers=options.has_headers,
        has_batch_columns=options.has_batch_columns,
        has_directory=len(expand_paths(options.paths)) > 1,
        has_corrupt=options.mode is Mode.PERMISSIVE,
    )
    return arrow_schema(names, options.decoding)


def _projected(schema: StructType, options: ReadOptions) -> list[str]:
    """The column names of a schema. Raises ValueError for a column that the view does not have with that type."""
    if options.view == RECORDS:
        known = from_arrow_schema(arrow_schema(list(ARROW_TYPES), options.decoding))
    else:
        known = from_arrow_schema(registry.TABLES[options.view].schema)
    types = {field.name: field.dataType.simpleString() for field in known.fields}
    for field in schema.fields:
        kind = field.dataType.simpleString()
        if types.get(field.name) != kind:
            columns = ", ".join(f"{name} {known_kind}" for name, known_kind in types.items())
            raise ValueError(f"kafkalog has no column {field.name} {kind} in {options.view}; it has {columns}")
    return list(schema.fieldNames())
