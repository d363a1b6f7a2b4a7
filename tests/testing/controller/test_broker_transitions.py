"""Leaders and ISRs when a broker is fenced, unfenced, or shuts down: the rules of Kafka without eligible leader
replicas.
"""

import pytest

from odradek.broker.metadata.image.image import (
    NO_LEADER,
    BrokerRegistration,
    MetadataDelta,
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from odradek.broker.metadata.image.replay import replay
from odradek.testing.controller.broker_sessions import BrokerControlState as State
from odradek.testing.controller.broker_transitions import leads_any, transition_records

TOPIC_ID = b"t" * 16


def image_of(isr: tuple[int, ...], leader: int, *fenced: int) -> MetadataImage:
    """Brokers 1 to 3 and a partition with a replica on each."""
    partition = PartitionImage((1, 2, 3), (bytes(16),) * 3, isr, leader, 5, 7)
    topic = TopicImage("orders", TOPIC_ID, {0: partition})
    brokers = {
        one: BrokerRegistration(one, one * 100, bytes(16), {}, {}, None, one in fenced, False, (bytes([one]) * 16,))
        for one in (1, 2, 3)
    }
    return MetadataImage(
        topics_by_name={"orders": topic},
        topics_by_id={TOPIC_ID: topic},
        brokers=brokers,
        features={"metadata.version": 30},
    )


def after(image: MetadataImage, broker_id: int, state: State) -> PartitionImage:
    for record in transition_records(image, broker_id, state):
        replay(image, record, MetadataDelta())
    return image.topics_by_id[TOPIC_ID].partitions[0]


@pytest.mark.parametrize("state", [State.FENCED, State.SHUTDOWN_NOW, State.CONTROLLED_SHUTDOWN])
@pytest.mark.parametrize(
    ("isr", "leader", "departing", "expected"),
    [
        ((1, 2, 3), 1, 1, ((2, 3), 2, 6)),
        ((1, 3), 1, 1, ((3,), 3, 6)),
        ((1, 2, 3), 3, 1, ((2, 3), 3, 5)),
        ((1, 2, 3), 2, 3, ((1, 2), 2, 5)),
        ((1,), 1, 1, ((1,), NO_LEADER, 6)),
        ((1, 2), 1, 3, ((1, 2), 1, 5)),
    ],
)
def test_departure(
    state: State, isr: tuple[int, ...], leader: int, departing: int, expected: tuple[tuple[int, ...], int, int]
) -> None:
    image = image_of(isr, leader)
    partition = after(image, departing, state)
    assert (partition.isr, partition.leader, partition.leader_epoch) == expected
    assert not leads_any(image, departing)
    broker = image.brokers[departing]
    assert (broker.fenced, broker.in_controlled_shutdown) == (state.is_fenced, not state.is_fenced)


def test_fenced_broker_is_not_elected() -> None:
    partition = after(image_of((1, 2, 3), 1, 2), 1, State.FENCED)
    assert (partition.isr, partition.leader) == ((2, 3), 3)


@pytest.mark.parametrize(
    ("isr", "leader", "returning", "expected"),
    [
        ((1,), NO_LEADER, 1, (1, 6)),
        ((1,), NO_LEADER, 2, (NO_LEADER, 5)),
        ((1, 3), 3, 1, (3, 5)),
    ],
)
def test_return(isr: tuple[int, ...], leader: int, returning: int, expected: tuple[int, int]) -> None:
    image = image_of(isr, leader, returning)
    partition = after(image, returning, State.UNFENCED)
    assert (partition.leader, partition.leader_epoch) == expected
    assert not image.brokers[returning].fenced


@pytest.mark.parametrize(("fenced", "state"), [((1,), State.FENCED), ((1,), State.SHUTDOWN_NOW), ((), State.UNFENCED)])
def test_state_that_a_broker_has_needs_no_record(fenced: tuple[int, ...], state: State) -> None:
    assert transition_records(image_of((1,), 1, *fenced), 1, state) == []
