"""The state in an export: what the rows of a partition don't say about it. Reads `_state` beside the rows.

Never writes. An export without it, and other inputs, have none. Source: directories/state_tables.py.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import pyarrow as pa
import pyarrow.parquet as parquet
from numpy.typing import NDArray

from odradek.protocol.names.topics import INTERNAL_TOPICS
from odradek.storage.files.meta_properties import parse_uuid

from ..directories.state_tables import (
    PARTITIONS_FILE,
    PARTITIONS_SCHEMA,
    STATE_DIRECTORY,
    TOPICS_FILE,
    TOPICS_SCHEMA,
    UNCOMMITTED_FILE,
)
from .batches import FIRST_LEADER_EPOCH
from .inputs import ImportRefusedError
from .partition_files import WrittenPartition


@dataclass(frozen=True, slots=True)
class TopicState:
    """A topic: its id, number of partitions, and configs; None for what the export did not know."""

    topic_id: bytes | None
    partitions: int
    configs: Mapping[str, str] | None


class RestoredPartition(NamedTuple):
    """A partition: the offsets of its log's start and end, and (leader epoch, its first offset) in order.

    `uncommitted_file`: the table that has the offsets of aborted and open transactions.
    """

    log_start_offset: int
    log_end_offset: int
    leader_epochs: tuple[tuple[int, int], ...]
    uncommitted_file: str


@dataclass(slots=True)
class ExportedState:
    """The state of all topics and partitions in the inputs. `coordinator_inputs`: folders of internal topics' rows."""

    topics: dict[str, TopicState] = field(default_factory=dict)
    partitions: dict[tuple[str, int], RestoredPartition] = field(default_factory=dict)
    coordinator_inputs: dict[str, Path] = field(default_factory=dict)

    def without(self, names: Set[str]) -> "ExportedState":
        """The state of the other topics."""
        return ExportedState(
            {name: topic for name, topic in self.topics.items() if name not in names},
            {key: partition for key, partition in self.partitions.items() if key[0] not in names},
            {name: path for name, path in self.coordinator_inputs.items() if name not in names},
        )


class Uncommitted(NamedTuple):
    """Ranges of offsets of one partition, both ends included, by offset, and whether each transaction is open."""

    first_offsets: NDArray[numpy.int64]
    last_offsets: NDArray[numpy.int64]
    is_open: NDArray[numpy.bool_]

    def ranges_of(self, offsets: NDArray[numpy.int64]) -> NDArray[numpy.int64]:
        """For each offset the index of the range that has it; -1 for a committed one."""
        index = numpy.searchsorted(self.first_offsets, offsets, side="right") - 1
        if len(self.first_offsets):
            index[(index >= 0) & (offsets > self.last_offsets[index])] = -1
        return index


def read_state(inputs: Sequence[Path]) -> ExportedState:
    """The state of the inputs that are whole exports. Raises ImportRefusedError if two have the same topic, OSError."""
    state = ExportedState()
    for root in inputs:
        directory = root / STATE_DIRECTORY
        if (directory / PARTITIONS_FILE).exists():
            try:
                _read(directory, state)
            except (pa.ArrowInvalid, KeyError, ValueError) as error:
                raise ImportRefusedError(f"{directory}: {error}; --no-state imports the rows without it") from error
    return state


def _read(directory: Path, state: ExportedState) -> None:
    for row in _rows(directory / TOPICS_FILE, TOPICS_SCHEMA):
        if row["topic"] in state.topics:
            raise ImportRefusedError(
                f"{directory}: topic {row['topic']} is in another input, too; --no-state imports the rows of both"
            )
        topic_id = None if row["topicId"] is None else parse_uuid(row["topicId"])
        configs = None if row["configs"] is None else dict(row["configs"])
        state.topics[row["topic"]] = TopicState(topic_id, row["partitions"], configs)
    for row in _rows(directory / PARTITIONS_FILE, PARTITIONS_SCHEMA):
        epochs = tuple((entry["epoch"], entry["startOffset"]) for entry in row["leaderEpochs"] or ())
        state.partitions[row["topic"], row["partition"]] = RestoredPartition(
            row["logStartOffset"], row["logEndOffset"], epochs, str(directory / UNCOMMITTED_FILE)
        )
    for path in sorted(directory.glob("topic=*")):
        topic = path.name.removeprefix("topic=")
        if topic in INTERNAL_TOPICS:
            state.coordinator_inputs[topic] = path


def _rows(path: Path, schema: Any) -> list[dict[str, Any]]:
    """The rows of a table, by partition. Raises OSError, ArrowInvalid."""
    rows: list[dict[str, Any]] = parquet.read_table(path, schema=schema).to_pylist()
    return rows


def read_uncommitted(path: str, topic: str, partition: int) -> Uncommitted:
    """The uncommitted offsets of a partition. Raises OSError."""
    filters = [("topic", "=", topic), ("partition", "=", partition)]
    rows = parquet.read_table(path, filters=filters).sort_by("firstOffset")
    return Uncommitted(*(rows.column(name).to_numpy() for name in ("firstOffset", "lastOffset", "isOpen")))


LeaderEpochs = Sequence[tuple[int, int]]
"""(leader epoch, its first offset), in order."""


def epochs_from(state: RestoredPartition) -> LeaderEpochs:
    """The leader epochs from the log start on. The first one begins there."""
    epochs = [entry for entry in state.leader_epochs if entry[1] <= state.log_end_offset]
    before = [entry for entry in epochs if entry[1] <= state.log_start_offset]
    first = before[-1][0] if before else epochs[0][0] if epochs else FIRST_LEADER_EPOCH
    later = [entry for entry in epochs if entry[1] > state.log_start_offset and entry[0] > first]
    return [(first, state.log_start_offset), *later]


def committed_rows(rows: Iterable[Any], state: RestoredPartition, facts: WrittenPartition) -> Iterator[Any]:
    """Yields the record batches without uncommitted and deleted rows, which it counts in `facts`. Raises OSError.

    Rows below the log start are deleted. Rows of aborted transactions would be committed ones, because imported batches
    have no producer. Those of open transactions, too; a broker would have aborted them (transaction.timeout.ms).
    Source: KIP-98, KIP-101.
    """
    uncommitted = read_uncommitted(state.uncommitted_file, facts.topic, facts.partition)
    for batch in rows:
        offsets = batch.column("offset").to_numpy()
        is_kept = offsets >= state.log_start_offset
        facts.deleted += int(numpy.count_nonzero(~is_kept))
        if len(uncommitted.first_offsets):
            found = uncommitted.ranges_of(offsets)
            is_out = is_kept & (found >= 0)
            is_open = is_out & uncommitted.is_open[found]
            facts.undecided += int(numpy.count_nonzero(is_open))
            facts.aborted += int(numpy.count_nonzero(is_out & ~is_open))
            is_kept &= ~is_out
        kept = batch if is_kept.all() else batch.filter(pa.array(is_kept))
        if kept.num_rows:
            yield kept


def by_epoch(batch: Any, epochs: LeaderEpochs) -> Iterator[tuple[int, Any]]:
    """Yields (leader epoch, its rows) of a record batch with rising offsets."""
    starts = numpy.searchsorted(batch.column("offset").to_numpy(), [start for _, start in epochs])
    for (epoch, _), (first, behind) in zip(epochs, pairwise([*starts.tolist(), batch.num_rows]), strict=True):
        if first < behind:
            yield epoch, batch.slice(first, behind - first)
