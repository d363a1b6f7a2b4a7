"""The share coordinator with a log, a clock, timers and topics in memory."""

from collections.abc import Iterator
from typing import Any

from odradek.broker.share_state.config import ShareCoordinatorConfig
from odradek.broker.share_state.coordinator import ShareCoordinator
from odradek.broker.share_state.core import ShareStateCore
from odradek.broker.share_state.operations import Operation, StateOutcome
from odradek.protocol.internal_records.share_partition_key import SharePartitionKey
from odradek.protocol.internal_records.share_state_records import ShareStateRecord, decode_record
from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.record import iterate_records
from support.groups.harness import MemoryLog, VirtualTimers

TOPIC = b"t" * 16
KEY = SharePartitionKey("g", TOPIC, 0)
FIELDS = (
    "snapshot_epoch",
    "state_epoch",
    "leader_epoch",
    "start_offset",
    "delivery_complete_count",
    "created_ms",
    "written_ms",
    "batches",
)


class PrunedLog(MemoryLog):
    """A log whose oldest records can be deleted. ``start``: the log start offset."""

    def __init__(self) -> None:
        super().__init__()
        self.start = 0

    def delete_below(self, offset: int) -> None:
        """Removes whole batches only, as a log does."""
        assert offset <= self.next_offset
        self.start = max(self.start, offset)
        self.batches = [batch for batch in self.batches if next(iterate_headers(batch))[1].next_offset > self.start]


class ShareHarness:
    """One coordinator with one partition."""

    def __init__(self, **settings: Any) -> None:
        self.config = ShareCoordinatorConfig(**{"state_topic_num_partitions": 1, **settings})
        self.timers = VirtualTimers()
        self.log = PrunedLog()
        self.topics = {TOPIC: 4}
        self.is_enabled = True
        self.start()

    def start(self) -> None:
        """Starts a coordinator, which loads the log. Questions that waited before are never answered."""
        self.timers.clear()
        self.coordinator = ShareCoordinator(
            self.config,
            self.timers,
            lambda: self.timers.now_ms,
            lambda _: None,
            lambda topic_id: self.topics.get(topic_id, 0),
            lambda: self.is_enabled,
        )
        self.coordinator.elect(0, self.log)

    @property
    def core(self) -> ShareStateCore:
        return self.coordinator.shard_of("").core

    def ask(self, operation: Operation, key: SharePartitionKey = KEY) -> StateOutcome:
        """Asks what is answered at once."""
        answers: list[StateOutcome] = []
        self.coordinator.ask(key, operation, self.timers.now_ms, answers.append)
        [answer] = answers
        return answer

    def records(self) -> list[ShareStateRecord]:
        """What the log has, without what lies below its start."""
        return [record for offset, record in self._stored() if offset >= self.log.start]

    def _stored(self) -> Iterator[tuple[int, ShareStateRecord]]:
        for batch in self.log.batches:
            for position, header in iterate_headers(batch):
                for record in iterate_records(batch, header, position):
                    decoded = decode_record(record.key, record.value)
                    assert decoded is not None
                    yield record.offset, decoded


def durable_state(core: ShareStateCore) -> dict[SharePartitionKey, dict[str, Any]]:
    """What a restart must find again."""
    return {key: {name: getattr(state, name) for name in FIELDS} for key, state in core.states.items()}
