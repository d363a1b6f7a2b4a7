"""Sets up the metrics of the coordinators: reads groups and transactions from the loaded shards.

Owns: nothing. A broker without ``odradek.metrics.listener`` does not import this.
"""

from collections.abc import Callable, Iterator

from odradek.protocol.errors import KafkaError
from odradek.storage.log.log import Log

from ..coordinator.coordinator import Coordinator
from ..coordinator.interfaces import EffectsOf
from ..coordinator.shard import Core, ShardState
from ..metrics.coordinator_activity import CoordinatorActivity
from ..metrics.coordinator_metrics import CoordinatorMetrics, CoordinatorSources, TransactionSeen
from ..metrics.lag_metrics import CommittedTopic, LagMetrics, LagSources
from ..metrics.pieces import JoinedSources
from .broker import Broker


def coordinator_metrics(broker: Broker, clock_ms: Callable[[], int]) -> JoinedSources:
    """The metrics of a broker's coordinators. ``clock_ms``: wall clock, milliseconds since the epoch."""

    def classic_states() -> Iterator[str]:
        for core in _loaded(broker.group_coordinator):
            yield from (group.state for group in list(core.groups.values()))

    def consumer_states() -> Iterator[str]:
        for core in _loaded(broker.group_coordinator):
            yield from (group.state for group in list(core.consumer_groups.values()))

    def transactions() -> Iterator[TransactionSeen]:
        for core in _loaded(broker.transaction_coordinator):
            for one in list(core.transactions.values()):
                yield TransactionSeen(one.state.label, one.start_timestamp_ms)

    def committed() -> Iterator[CommittedTopic]:
        for core in _loaded(broker.group_coordinator):
            for group_id in list(core.offsets.groups()):
                for topic, partitions in list(core.offsets.topics_of(group_id).items()):
                    yield CommittedTopic(group_id, topic, partitions.offsets())

    def log_of(topic: str, index: int) -> Log | None:
        partition = broker.partitions.find(topic, index)
        if partition is None:
            return None
        return partition.open_log if partition.copy is None else partition.copy

    return JoinedSources(
        CoordinatorMetrics(CoordinatorSources(classic_states, consumer_states, transactions), clock_ms),
        CoordinatorActivity(broker.group_coordinator.counts, broker.transaction_coordinator.counts),
        LagMetrics(LagSources(committed, log_of, clock_ms)),
    )


def _loaded(coordinator: Coordinator[Core, EffectsOf]) -> Iterator[Core]:
    """The cores of the partitions that are served now; none at shutdown."""
    try:
        shards = coordinator.shards()
    except KafkaError:
        return
    for shard in shards:
        if shard.state is ShardState.ACTIVE:
            yield shard.core
