"""Leaders choose replicas for consumers as RackAwareReplicaSelector does, among followers that have the offset."""

import pytest

from odradek.broker.metadata.image.image import BrokerRegistration, Endpoint, MetadataImage, PartitionImage
from odradek.broker.replicas.isr import InSyncReplicas
from odradek.broker.replicas.replica_selector import RackAwareReplicaSelector, ReplicaView

LEADER = 1
RACKS = {1: "a", 2: "b", 3: "b", 4: "c", 5: None}
LISTENER = "PLAINTEXT"


def registration(broker_id: int, *, fenced: bool = False, listener: str = LISTENER) -> BrokerRegistration:
    endpoints = {listener: Endpoint(listener, "host", 9092)}
    return BrokerRegistration(
        broker_id, 7, bytes(16), endpoints, {}, RACKS[broker_id], fenced, in_controlled_shutdown=False, directories=()
    )


def image() -> MetadataImage:
    return MetadataImage(brokers={broker_id: registration(broker_id) for broker_id in RACKS})


def select(
    rack: str, *followers: ReplicaView, brokers: MetadataImage | None = None, listener: str = LISTENER
) -> int | None:
    return RackAwareReplicaSelector(LEADER, lambda: brokers or image()).select(rack, listener, followers)


def test_leader_in_the_rack_is_preferred_to_followers_there() -> None:
    brokers = image()
    brokers.brokers[2] = brokers.brokers[2]._replace(rack="a")
    assert select("a", ReplicaView(10, 5, 2), brokers=brokers) is None


@pytest.mark.parametrize(
    ("followers", "chosen"),
    [
        ([ReplicaView(10, 5, 2), ReplicaView(11, 1, 3)], 3),
        ([ReplicaView(10, 5, 2), ReplicaView(10, 4, 3)], 2),
        ([ReplicaView(10, 5, 2), ReplicaView(10, 5, 3)], 3),
        ([ReplicaView(99, 9, 4), ReplicaView(10, 5, 2)], 2),
    ],
    ids=["end offset", "caught up last", "broker id", "another rack"],
)
def test_of_the_followers_in_the_rack_the_one_that_has_caught_up_most(
    followers: list[ReplicaView], chosen: int
) -> None:
    assert select("b", *followers) == chosen


def test_rack_without_a_replica_is_served_by_the_leader() -> None:
    assert select("nowhere", ReplicaView(10, 5, 2), ReplicaView(10, 5, 5)) is None


def test_fenced_follower_and_one_without_the_listener_are_not_chosen() -> None:
    brokers = image()
    brokers.brokers[2] = registration(2, fenced=True)
    brokers.brokers[3] = registration(3, listener="OTHER")
    assert select("b", ReplicaView(10, 5, 2), ReplicaView(10, 5, 3), brokers=brokers) is None


def test_followers_out_of_sync_or_without_the_offset_are_not_offered() -> None:
    """``ReplicaManager.findPreferredReadReplica``: in the ISR, and with the offset in the follower's log."""
    isr = InSyncReplicas(LEADER, 100, lambda broker_id: image().brokers[broker_id])
    isr.lead(PartitionImage((1, 2, 3, 4), (bytes(16),) * 4, (1, 2, 3), LEADER, 0, 0), 10, 0, 1_000)
    assert list(isr.followers_with(0)) == [], "the leader knows nothing of their logs yet"
    isr.fetched(2, 7, 8, 3, 10, 1_001)
    isr.fetched(3, 7, 10, 0, 10, 1_002)
    isr.fetched(4, 7, 9, 0, 20, 1_003)
    offered = {offset: [view.broker_id for view in isr.followers_with(offset)] for offset in (2, 3, 8, 9, 11)}
    assert offered == {2: [3], 3: [2, 3], 8: [2, 3], 9: [3], 11: []}
