"""Metrics are made in pieces, and the coordinators change between two pieces."""

from types import SimpleNamespace
from typing import Any

from odradek.broker.coordinator.shard import ShardState
from odradek.broker.groups.offsets.store import OffsetStore
from odradek.broker.metrics.coordinator_metrics import COUNTED_A_PIECE
from odradek.broker.metrics.counts import GroupCounts, TransactionCounts
from odradek.broker.metrics.lag_metrics import LOOKED_AT_A_PIECE
from odradek.broker.server.metrics import coordinator_metrics
from odradek.protocol.messages.group_records import OffsetCommitValue

MANY = 3 * COUNTED_A_PIECE
NOW_MS = 1_000


def coordinator(core: Any, counts: Any) -> Any:
    shard = SimpleNamespace(state=ShardState.ACTIVE, core=core)
    return SimpleNamespace(shards=lambda: [shard], counts=counts)


def test_groups_offsets_and_transactions_come_and_go_between_pieces() -> None:
    """Each piece is followed by a new and a deleted entry in everything that the metrics look at."""
    group = SimpleNamespace(state="Stable")
    transaction = SimpleNamespace(state=SimpleNamespace(label="Ongoing"), start_timestamp_ms=0)
    groups: dict[str, Any] = {f"group-{number}": group for number in range(MANY)}
    others: list[dict[str, Any]] = [dict(groups) for _ in range(3)]
    transactions = dict.fromkeys(groups, transaction)
    store = OffsetStore()
    for number in range(4):
        for topic in range(4):
            for partition in range(LOOKED_AT_A_PIECE):
                store.put(f"group-{number}", f"topic-{topic}", partition, OffsetCommitValue(), partition)
    groups_of_core = SimpleNamespace(classic=groups, consumer=others[0], share=others[1], streams=others[2])
    core = SimpleNamespace(groups=groups_of_core, offsets=store, transactions=transactions)
    broker: Any = SimpleNamespace(
        group_coordinator=coordinator(core, GroupCounts()),
        transaction_coordinator=coordinator(core, TransactionCounts()),
        partitions=SimpleNamespace(find=lambda topic, index: None),
    )
    pieces = 0
    for pieces, _ in enumerate(coordinator_metrics(broker, lambda: NOW_MS).pieces(), 1):
        tables = [(groups, group), *((other, group) for other in others), (transactions, transaction)]
        for table, value in tables:
            table[f"new-{pieces}"] = value
            table.pop(f"group-{pieces}", None)
        store.put(f"new-{pieces}", "topic-0", 0, OffsetCommitValue(), 0)
        store.put("group-0", f"new-{pieces}", 0, OffsetCommitValue(), 0)
        store.put("group-0", "topic-0", LOOKED_AT_A_PIECE + pieces, OffsetCommitValue(), 0)
        store.remove("group-1", "topic-1", pieces)
    assert pieces > 4 * MANY // COUNTED_A_PIECE
