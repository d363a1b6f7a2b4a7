"""A consumer fetches a partition from its preferred replica for a time, otherwise from the leader (KIP-392)."""

from odradek.client.group.subscription import PartitionState

LEADER, FOLLOWER = 1, 2


def test_preferred_replica_is_read_until_its_time_is_over() -> None:
    state = PartitionState(preferred_read_replica=FOLLOWER, preferred_until=10.0)
    read = [state.read_replica(LEADER, {LEADER, FOLLOWER}, now) for now in (0.0, 9.9, 10.0, 5.0)]
    assert read == [FOLLOWER, FOLLOWER, LEADER, LEADER]


def test_preferred_replica_that_is_not_in_the_metadata_is_not_read() -> None:
    state = PartitionState(preferred_read_replica=FOLLOWER, preferred_until=10.0)
    assert state.read_replica(LEADER, {LEADER}, 0.0) == LEADER
    assert state.preferred_read_replica is None
