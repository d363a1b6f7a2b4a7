"""Parses the options of the data source. Names are those of Spark's Kafka source and file sources.

Pure. OPTIONS lists all of them with their meanings. Unknown options are refused, because a misspelt one would otherwise
be ignored silently. Names are not case-sensitive, as in Spark.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ..command_line import parse_size
from .offset_options import EARLIEST, LATEST, ReadBound, parse_bound
from .registry_texts import FORMATS, Decoding
from .topic_options import TopicChoice, parse_topics

DEFAULT_MAX_PARTITION_BYTES = 128 << 20
RECORDS = "records"
VIEWS = (
    RECORDS,
    "batches",
    "groups",
    "offsets",
    "share_states",
    "transactions",
    "metadata",
    "indexes",
    "checkpoints",
)

OPTIONS = {
    "path": "a log directory or a partition's directory, or a pattern; load() also takes a list",
    "view": "records (default), or other contents of a directory: batches, groups, offsets, transactions, metadata, "
    "indexes, checkpoints",
    "subscribe": "topics separated by commas; the default is all topics whose names don't begin with __",
    "topics": "the same as subscribe",
    "subscribePattern": "a regular expression that must match the whole name of a topic",
    "assign": 'partitions: {"topic": [0, 1]}',
    "startingOffsets": 'earliest (default), or {"topic": {"0": 23, "1": -2}}; -2 is earliest. A stream may have latest',
    "endingOffsets": 'latest (default), or {"topic": {"0": 50, "1": -1}}, exclusive; -1 is latest',
    "startingTimestamp": "ms since 1970: start at the first record with this timestamp or a later one",
    "endingTimestamp": "ms since 1970: end before the first record with this timestamp or a later one",
    "startingOffsetsByTimestamp": '{"topic": {"0": 1700000000000}}',
    "endingOffsetsByTimestamp": "the same as startingOffsetsByTimestamp, for the end",
    "startingOffsetsByTimestampStrategy": "if no record is at or after the start: error (default) or latest",
    "isolation": "read_uncommitted (default) or read_committed, as isolation.level of a consumer",
    "includeHeaders": "true: adds the column headers; false is the default",
    "includeBatchColumns": "true: adds columns of the batch of each record; false is the default",
    "includeDeleted": "true: also reads records below the log start offset, which are deleted but still in the files; "
    "false is the default",
    "mode": "PERMISSIVE (default): damaged data becomes a row with _corrupt_record; DROPMALFORMED: it is skipped; "
    "FAILFAST: the job fails",
    "maxPartitionBytes": "maximum bytes of a segment for one task; the default is 128m",
    "minPartitions": "the minimum number of tasks, if the segments' indexes allow it",
    "filterPushdown": "true: skips what filters exclude; needs spark.sql.python.filterPushdown.enabled",
    "valueFormat": "avro, protobuf or json: value is a text of JSON, decoded with the schema of schemaRegistry",
    "keyFormat": "the same for key",
    "schemaRegistry": "the URL of a schema registry with Confluent's protocol",
    "maxOffsetsPerTrigger": "streams: the maximum number of offsets in a micro-batch",
}
"""Option -> its meaning, for the documentation."""
_ONLY_OF_RECORDS = ("isolation", "filterPushdown", "minPartitions", "keyFormat", "valueFormat", "schemaRegistry")
_OF_RECORDS = tuple(
    name for name in OPTIONS if name.startswith(("starting", "ending", "include")) or name in _ONLY_OF_RECORDS
)
_PATHS = "paths"  # the option that load() sets if it gets a list


class Mode(StrEnum):
    """How bytes that can't be read are handled, by Spark's names: a row, skipped, or an error."""

    PERMISSIVE = "PERMISSIVE"
    DROPMALFORMED = "DROPMALFORMED"
    FAILFAST = "FAILFAST"


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The parsed options of a read. Sizes are bytes."""

    paths: tuple[str, ...]
    view: str
    topics: TopicChoice
    start: ReadBound
    end: ReadBound
    is_committed_only: bool
    has_headers: bool
    has_batch_columns: bool
    includes_deleted: bool
    mode: Mode
    max_partition_bytes: int
    min_partitions: int
    is_pushing_filters: bool
    max_offsets_per_trigger: int | None
    decoding: Decoding | None = None
    """How a schema registry decodes keys and values."""


def parse_options(options: Mapping[str, str], *, is_stream: bool | None = False) -> ReadOptions:
    """Parses options. Raises ValueError for one that is unknown, missing, malformed or without effect.

    `is_stream` None: not known, because Spark asks for the schema before it chooses a batch read or a stream.
    """
    given = {key.lower(): value for key, value in options.items()}
    known = {name: given.pop(name.lower(), None) for name in (*OPTIONS, _PATHS)}
    if given:
        raise ValueError(f"kafkalog has no option {', '.join(sorted(given))}; the options are {', '.join(OPTIONS)}")
    paths = _paths(known["path"], known[_PATHS])
    if not paths:
        raise ValueError("kafkalog needs a path: load(DIR) with a log directory or a partition's directory")
    view = _one_of("view", known["view"], VIEWS)
    useless = [name for name in _OF_RECORDS if view != RECORDS and known[name] is not None]
    if useless:
        raise ValueError(f"{', '.join(useless)} has no effect with view={view}: remove it")
    trigger = known["maxOffsetsPerTrigger"]
    return ReadOptions(
        paths,
        view,
        parse_topics(known),
        parse_bound("starting", known, LATEST if is_stream else EARLIEST, is_stream=is_stream),
        parse_bound("ending", known, LATEST, is_stream=is_stream),
        _one_of("isolation", known["isolation"], ("read_uncommitted", "read_committed")) == "read_committed",
        _flag("includeHeaders", known["includeHeaders"]),
        _flag("includeBatchColumns", known["includeBatchColumns"]),
        _flag("includeDeleted", known["includeDeleted"]),
        Mode(_one_of("mode", (known["mode"] or Mode.PERMISSIVE).upper(), tuple(Mode))),
        parse_size("maxPartitionBytes", known["maxPartitionBytes"] or str(DEFAULT_MAX_PARTITION_BYTES)),
        _number("minPartitions", known["minPartitions"] or "1"),
        _flag("filterPushdown", known["filterPushdown"]),
        None if trigger is None else _number("maxOffsetsPerTrigger", trigger),
        _decoding(known),
    )


def _decoding(known: Mapping[str, str | None]) -> Decoding | None:
    registry = known["schemaRegistry"]
    formats = {name: known[name] for name in ("keyFormat", "valueFormat")}
    for name, kind in formats.items():
        if kind is not None and kind not in FORMATS:
            raise ValueError(f"{name} must be one of {', '.join(FORMATS)}, not {kind}")
    if all(kind is None for kind in formats.values()):
        if registry is not None:
            raise ValueError("schemaRegistry needs valueFormat or keyFormat")
        return None
    if registry is None:
        raise ValueError("valueFormat and keyFormat need schemaRegistry, the URL of a schema registry")
    return Decoding(registry, formats["keyFormat"], formats["valueFormat"])


def _paths(path: str | None, paths: str | None) -> tuple[str, ...]:
    """The paths. load() passes one path as a text, several as a JSON list. A text may have several, with commas."""
    if paths is not None:
        return tuple(json.loads(paths))
    return tuple(text.strip() for text in (path or "").split(",") if text.strip())


def _one_of(name: str, value: str | None, allowed: tuple[str, ...]) -> str:
    if value is None:
        return allowed[0]
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, not {value}")
    return value


def _flag(name: str, value: str | None) -> bool:
    return _one_of(name, None if value is None else value.lower(), ("false", "true")) == "true"


def _number(name: str, text: str) -> int:
    if not text.strip().isdigit() or int(text) == 0:
        raise ValueError(f"{name} must be a number of at least 1, not {text!r}")
    return int(text)


_NO_TIMESTAMP = -(1 << 63)


@dataclass(frozen=True, slots=True)
class Pruning:
    """Limits of a read: records outside of these topics, partitions, offsets and timestamps (ms) may be skipped.

    None: all topics or partitions.
    """

    topics: frozenset[object] | None = None
    partitions: frozenset[object] | None = None
    first_offset: int = 0
    end_offset: int = (1 << 63) - 1
    first_timestamp: int = _NO_TIMESTAMP

    def allows_partition(self, topic: str, partition: int) -> bool:
        """Whether the partition must be read."""
        return (self.topics is None or topic in self.topics) and (
            self.partitions is None or partition in self.partitions
        )
