"""Collects what rows can't say: ends of logs, leader epochs, uncommitted offsets, topic ids and configs.

Owns: the tables of `directories/state_tables.py` beside the rows of an export. Never writes anything else. Reads
checkpoints and the last batch headers of each log, and all headers of a log in which transactions were aborted or are
open. Source: Kafka's LeaderEpochFileCache; KIP-98, KIP-101, KIP-516.
"""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as parquet

from odradek.protocol.errors import ProtocolError
from odradek.protocol.internal_records.coordinator_serde import TRANSACTION_RECORDS
from odradek.protocol.messages.transaction_records import TransactionLogValue
from odradek.protocol.names.topics import ALWAYS_COMPACTED, TRANSACTION_STATE_TOPIC
from odradek.protocol.names.transaction_states import TransactionState
from odradek.storage.errors import CorruptCheckpointError
from odradek.storage.files.checkpoints import read_epoch_checkpoint
from odradek.storage.files.file_names import LEADER_EPOCH_CHECKPOINT
from odradek.storage.files.meta_properties import read_partition_metadata, uuid_text
from odradek.storage.segment.transaction_index import AbortedTransaction

from ..decode.damage import Damage
from ..decode.segment_chunks import read_chunks
from ..directories.file_access import PathFiles, is_gone, is_unreadable
from ..directories.log_directories import PartitionDirectory, find_partitions, partition_at
from ..directories.metadata_reader import read_cluster_metadata
from ..directories.segment_files import indexed_positions
from ..directories.state_tables import (
    PARTITIONS_FILE,
    PARTITIONS_SCHEMA,
    STATE_DIRECTORY,
    TOPICS_FILE,
    TOPICS_SCHEMA,
    UNCOMMITTED_FILE,
    UNCOMMITTED_SCHEMA,
)
from ..engine.engines import LOCAL, run_tasks
from ..engine.job import Job
from ..reading.isolation import (
    NO_OPEN_TRANSACTION,
    UnknownTransactionsError,
    aborted_transactions,
    is_aborted,
    transaction_tail,
)
from ..reading.log_end import LogEnd
from ..reading.log_start import read_log_starts
from ..reading.offset_options import EARLIEST, LATEST, ReadBound
from ..reading.options import ReadOptions
from ..reading.splits import expand_paths, offset_range
from ..reading.topic_options import TopicChoice
from ..tables.log_reading import LogRecord, data_batches, read_records

_COST_BYTES = 256 << 10
"""The cost of a replica's task in bytes: from some hundred replicas on, a pool of processes is worth its start."""


@dataclass(frozen=True, slots=True)
class StateTask:
    """One replica, its log start offset, and what the export selects of it."""

    found: PartitionDirectory
    log_start: int
    options: ReadOptions
    committing: frozenset[int] = frozenset()
    """The producers whose open transactions are decided: only their commit markers are missing."""


class ReplicaEnds(NamedTuple):
    """The state of one replica. `uncommitted`: (first offset, last offset, whether the transaction is open)."""

    topic: str
    partition: int
    topic_id: bytes | None
    log_start_offset: int
    log_end_offset: int
    leader_epochs: tuple[tuple[int, int], ...]
    uncommitted: tuple[tuple[int, int, bool], ...]


def read_state(task: StateTask) -> ReplicaEnds | None:
    """The state of a replica, as far as it can be read; None if it is gone. Raises OSError."""
    found: PartitionDirectory | None = task.found
    for _ in range(3):
        if found is None:
            return None
        try:
            return _state_of(found, task)
        except OSError as error:
            if not is_gone(error):
                raise
        found = partition_at((task.found.topic, task.found.partition), task.found.path)
    return None


def _state_of(found: PartitionDirectory, task: StateTask) -> ReplicaEnds:
    log_end = LogEnd(is_committed_only=False)
    log_end.follow(found)
    first, end, _ = offset_range(found, task.options, task.log_start)
    end = max(min(end, log_end.offset), first)
    return ReplicaEnds(
        found.topic,
        found.partition,
        _topic_id(found.path),
        first,
        end,
        _epochs(found.path),
        () if task.options.is_committed_only else tuple(_uncommitted(found, first, end, task.committing)),
    )


def _topic_id(path: Path) -> bytes | None:
    try:
        return read_partition_metadata(PathFiles(), path)
    except CorruptCheckpointError:
        return None  # an audit names it; the topic gets a new id
    except OSError as error:
        if not is_unreadable(error, path):
            raise
        return None


def _epochs(path: Path) -> tuple[tuple[int, int], ...]:
    try:
        return tuple(read_epoch_checkpoint(PathFiles(), path / LEADER_EPOCH_CHECKPOINT))
    except CorruptCheckpointError:
        return ()  # an audit names it; import begins with epoch 0
    except OSError as error:
        if not (is_gone(error) or is_unreadable(error, path)):
            raise
        return ()


def _uncommitted(
    found: PartitionDirectory, first: int, end: int, committing: frozenset[int]
) -> Iterator[tuple[int, int, bool]]:
    """The offsets of batches in `[first, end)` that belong to aborted or open transactions; neighbours are joined."""
    tail = transaction_tail(found)
    try:
        aborted = [*tail.aborted, *aborted_transactions(found.path, first, end)]
    except UnknownTransactionsError:
        aborted = list(tail.aborted)  # an audit names the index
    if not aborted and tail.last_stable_offset == NO_OPEN_TRANSACTION:
        return
    is_open_for = [found for found in tail.open if found[0] not in committing]
    opened = [AbortedTransaction(producer, since, end, end) for producer, since in is_open_for]
    before = (-1, -2, False)
    for segment in found.segments:
        for chunk in read_chunks(segment.path, batch_positions=indexed_positions(segment), inode=segment.inode):
            if isinstance(chunk, Damage):
                continue
            is_open = is_aborted(chunk, opened) & ~chunk.is_control
            is_out = (is_aborted(chunk, aborted) & ~chunk.is_control) | is_open
            inside = is_out & (chunk.last_offsets >= first) & (chunk.column("base_offset") < end)
            for index in numpy.flatnonzero(inside).tolist():
                low, high = int(chunk.column("base_offset")[index]), int(chunk.last_offsets[index])
                if before[1] + 1 == low and before[2] == is_open[index]:
                    before = (before[0], high, before[2])
                    continue
                if before[0] >= 0:
                    yield before
                before = (low, high, bool(is_open[index]))
    if before[0] >= 0:
        yield before


@dataclass(frozen=True, slots=True)
class CollectedState:
    """The states of partitions, the rows of their topics, and the tasks that read the states."""

    tasks: list[StateTask]
    states: list[ReplicaEnds]
    topics: list[dict[str, Any]]

    @property
    def topic_names(self) -> set[str]:
        """The topics of which there is a state."""
        return {state.topic for state in self.states}


def coordinators_options(options: ReadOptions) -> ReadOptions:
    """The options to read the coordinators' topics of the same directories whole, without aborted records."""
    start, end = (ReadBound(offset, {}, None, {}, is_lenient=True) for offset in (EARLIEST, LATEST))
    topics = TopicChoice(names=frozenset(ALWAYS_COMPACTED))
    whole = replace(options, topics=topics, start=start, end=end, decoding=None)
    return replace(whole, is_committed_only=True, includes_deleted=False)


def collect_state(options: ReadOptions) -> CollectedState:
    """The states of the chosen partitions and of the coordinators' topics.

    Raises EngineError, LogDirectoryError, OSError.

    If two directories have a partition, the state of the one whose log ends later.
    """
    tasks: list[StateTask] = []
    configs: dict[str, dict[str, str]] = {}
    counts: dict[str, int] = {}
    ids: dict[str, bytes] = {}
    for directory in expand_paths(options.paths):
        starts = read_log_starts(directory)
        metadata = read_cluster_metadata(directory)
        for name, facts in metadata.topics.items():
            counts[name], ids[name] = len(facts.brokers), facts.topic_id
            configs[name] = metadata.topic_configs.get(name, {})
        of_coordinators = coordinators_options(options)
        tasks += [
            StateTask(found, starts.of(found), chosen)
            for chosen in (options, of_coordinators)
            for found in find_partitions(directory, chosen.topics.listed)
            if chosen.topics.has(found.topic, found.partition) and not found.fault
            if chosen is of_coordinators or found.topic not in ALWAYS_COMPACTED
        ]
    states = _decided(tasks)
    topics: dict[str, dict[str, Any]] = {}
    for state in states:
        topic_id = ids.get(state.topic, state.topic_id)
        known = topics.setdefault(
            state.topic,
            {
                "topic": state.topic,
                "topicId": None if topic_id is None else uuid_text(topic_id),
                "partitions": counts.get(state.topic, 0),
                "configs": list(configs[state.topic].items()) if state.topic in configs else None,
            },
        )
        known["partitions"] = max(known["partitions"], state.partition + 1)
    return CollectedState(tasks, states, list(topics.values()))


def after_export(collected: CollectedState) -> CollectedState:
    """The state for rows that were planned after it was collected, and are written now. Raises as `collect_state`.

    If a broker has changed a log in between, its uncommitted offsets and its log start are read again. The end stays,
    because later records are not in the export; import moves it behind the last row.
    """
    changed = [
        task
        for task in collected.tasks
        if partition_at((task.found.topic, task.found.partition), task.found.path) != task.found
    ]
    if not changed:
        return collected
    starts = {task.found.path.parent: read_log_starts(task.found.path.parent) for task in changed}
    tasks = [replace(task, log_start=starts[task.found.path.parent].of(task.found)) for task in changed]
    now = {(state.topic, state.partition): state for state in _decided(tasks)}
    states = [
        now.get((state.topic, state.partition), state)._replace(log_end_offset=state.log_end_offset)
        for state in collected.states
    ]
    return replace(collected, states=states)


def _decided(tasks: Sequence[StateTask]) -> list[ReplicaEnds]:
    """As `_longest`, but a transaction is not open if only its commit markers are missing."""
    states = _longest(tasks)
    if any(is_open for state in states for *_, is_open in state.uncommitted):
        committing = _committing_producers(tasks[0].options)
        if committing:
            return _longest([replace(task, committing=committing) for task in tasks])
    return states


def _longest(tasks: Sequence[StateTask]) -> list[ReplicaEnds]:
    """The state of each partition, by topic and partition: of two replicas that of the longer log."""
    job = Job(tasks, read_state, "odradek export", place=lambda task: task.found.path, sizes=[_COST_BYTES] * len(tasks))
    states: dict[tuple[str, int], ReplicaEnds] = {}
    for state in run_tasks(LOCAL, job):
        if state is not None:
            known = states.get((state.topic, state.partition))
            if known is None or state.log_end_offset > known.log_end_offset:
                states[state.topic, state.partition] = state
    return [states[key] for key in sorted(states)]


def _committing_producers(options: ReadOptions) -> frozenset[int]:
    """The producers whose open transactions are decided to commit. The next start of a broker writes their markers."""
    latest: dict[bytes, tuple[int, bytes | None]] = {}
    for directory in expand_paths(options.paths):
        for found in find_partitions(directory, [TRANSACTION_STATE_TOPIC]):
            for record in read_records(found, data_batches):
                if isinstance(record, LogRecord) and record.key is not None:
                    found_before = latest.get(record.key, (-1, None))
                    latest[record.key] = max(found_before, (record.offset, record.value), key=itemgetter(0))
    producers = set()
    for _, data in latest.values():
        try:
            value = None if data is None else TRANSACTION_RECORDS.decode_value(0, data)[0]
        except ProtocolError:
            continue  # an audit names it
        if isinstance(value, TransactionLogValue) and value.transaction_status == TransactionState.PREPARE_COMMIT:
            producers.add(value.producer_id)
    return frozenset(producers)


def remove_state(output: Path, topics: Iterable[str]) -> None:
    """Removes the state of these topics, and the records of the coordinators' topics. Raises OSError."""
    directory = output / STATE_DIRECTORY
    if not directory.is_dir():
        return
    for path in directory.glob("topic=*"):
        shutil.rmtree(path)
    for name in (TOPICS_FILE, PARTITIONS_FILE, UNCOMMITTED_FILE):
        if (directory / name).exists():
            rows = parquet.read_table(directory / name)
            gone = pa.compute.is_in(rows.column("topic"), pa.array(sorted(topics), pa.string()))
            parquet.write_table(rows.filter(pa.compute.invert(gone)), directory / name)


def write_state(output: Path, collected: CollectedState) -> None:
    """Adds the tables to those of other topics that are in the output. Raises OSError."""
    directory = output / STATE_DIRECTORY
    directory.mkdir(parents=True, exist_ok=True)
    partitions = [
        {
            "topic": state.topic,
            "partition": state.partition,
            "logStartOffset": state.log_start_offset,
            "logEndOffset": state.log_end_offset,
            "leaderEpochs": [{"epoch": epoch, "startOffset": start} for epoch, start in state.leader_epochs],
        }
        for state in collected.states
    ]
    _add(directory / TOPICS_FILE, pa.Table.from_pylist(collected.topics, TOPICS_SCHEMA))
    _add(directory / PARTITIONS_FILE, pa.Table.from_pylist(partitions, PARTITIONS_SCHEMA))
    _add(directory / UNCOMMITTED_FILE, _uncommitted_table(collected.states))


def _uncommitted_table(states: Sequence[ReplicaEnds]) -> Any:
    rows = [(state.topic, state.partition, *one) for state in states for one in state.uncommitted]
    columns = zip(*rows, strict=True) if rows else [()] * len(UNCOMMITTED_SCHEMA)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, UNCOMMITTED_SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=UNCOMMITTED_SCHEMA)


def _add(path: Path, rows: Any) -> None:
    if path.exists():
        rows = pa.concat_tables([parquet.read_table(path, schema=rows.schema), rows])
    parquet.write_table(rows, path)
