"""Asks a broker about the state of share partitions, and reads what it has stored of them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from odradek.protocol.errors import ErrorCode
from odradek.protocol.internal_records.share_batches import StateBatch
from odradek.protocol.internal_records.share_partition_key import SharePartitionKey
from odradek.protocol.internal_records.share_state_records import ShareStateRecord, decode_record
from odradek.protocol.messages.groups import FindCoordinatorRequest
from odradek.protocol.messages.share_groups import (
    DeleteShareGroupStateRequest,
    InitializeShareGroupStateRequest,
    ReadShareGroupStateRequest,
    ReadShareGroupStateSummaryRequest,
    WriteShareGroupStateRequest,
)
from odradek.protocol.messages.structure import Message
from odradek.protocol.names.topics import SHARE_STATE_TOPIC
from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.record import iterate_records
from support.eventually import eventually

Ask = Callable[[Message, int], Any]
"""Sends a request of a version. Returns the body of the answer as JSON."""
RETRIED = {ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR}


class States:
    """The state of one share partition at one broker."""

    def __init__(self, ask: Ask, group_id: str, topic_id: bytes, partition: int) -> None:
        self._ask = ask
        self.key = SharePartitionKey(group_id, topic_id, partition)

    def initialize(self, state_epoch: int, start_offset: int) -> Any:
        kind = InitializeShareGroupStateRequest
        entry = kind.PartitionData(self.key.partition, state_epoch, start_offset)
        return self._one(kind(self.key.group_id, [kind.InitializeStateData(self.key.topic_id, [entry])]), 0)

    def read(self, leader_epoch: int) -> Any:
        kind = ReadShareGroupStateRequest
        entry = kind.PartitionData(self.key.partition, leader_epoch)
        return self._one(kind(self.key.group_id, [kind.ReadStateData(self.key.topic_id, [entry])]), 0)

    def write(
        self,
        state_epoch: int,
        leader_epoch: int,
        start_offset: int,
        complete_count: int = 0,
        batches: Sequence[StateBatch] = (),
        version: int = 1,
    ) -> Any:
        kind = WriteShareGroupStateRequest
        state_batches = [kind.StateBatch(*batch) for batch in batches]
        numbers = (state_epoch, leader_epoch, start_offset, complete_count if version else -1)
        entry = kind.PartitionData(self.key.partition, *numbers, state_batches)
        return self._one(kind(self.key.group_id, [kind.WriteStateData(self.key.topic_id, [entry])]), version)

    def delete(self) -> Any:
        kind = DeleteShareGroupStateRequest
        entry = kind.PartitionData(self.key.partition)
        return self._one(kind(self.key.group_id, [kind.DeleteStateData(self.key.topic_id, [entry])]), 0)

    def summarize(self, leader_epoch: int = 0, version: int = 1) -> Any:
        kind = ReadShareGroupStateSummaryRequest
        entry = kind.PartitionData(self.key.partition, leader_epoch)
        request = kind(self.key.group_id, [kind.ReadStateSummaryData(self.key.topic_id, [entry])])
        return self._one(request, version)

    def _one(self, request: Message, version: int) -> Any:
        """The result of the share partition; None if the answer is empty. Retried while the coordinator begins."""
        found: list[Any] = []

        def has_answered() -> bool:
            results = self._ask(request, version)["results"]
            found[:] = results[0]["partitions"] if results else [None]
            if found[0] is None or found[0]["errorCode"] not in RETRIED:
                return True
            self._ask(FindCoordinatorRequest("", 2, [self.key.coordinator_key]), 6)  # creates the topic
            return False

        eventually(lambda: f"the share coordinator answers: {found}", has_answered)
        [result] = found
        return result


def stored(log_dir: Path) -> Iterator[tuple[int, ShareStateRecord]]:
    """The records of ``__share_group_state`` in a directory with their partition, in order within each."""
    for directory in sorted(log_dir.glob(f"{SHARE_STATE_TOPIC}-*")):
        index = int(directory.name.rpartition("-")[2])
        for segment in sorted(directory.glob("*.log")):
            for record in records_of(segment.read_bytes()):
                yield index, record


def records_of(data: bytes) -> Iterator[ShareStateRecord]:
    """The records in the bytes of a segment."""
    for position, header in iterate_headers(data):
        for record in iterate_records(data, header, position):
            decoded = decode_record(record.key, record.value)
            assert decoded is not None
            assert decoded.key_bytes() == record.key, "written as Kafka writes it"
            assert decoded.value_bytes() == record.value
            yield decoded


def without_times(records: Iterable[ShareStateRecord]) -> list[Any]:
    """The values of records; their timestamps differ between brokers."""
    values: list[Any] = []
    for record in records:
        value = record.value
        fields = {} if value is None else {**value._asdict(), "kind": type(value).__name__}
        values.append({name: field for name, field in fields.items() if name not in ("created_ms", "written_ms")})
    return values
