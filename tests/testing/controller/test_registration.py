"""Registrations are accepted as by Kafka's ClusterControlManager, and replace an earlier registration."""

from typing import Any

import pytest

from odradek.broker.metadata.image.image import (
    DIRECTORY_UNASSIGNED,
    NO_LEADER,
    BrokerRegistration,
    MetadataDelta,
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from odradek.broker.metadata.image.replay import replay
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.quorum import BrokerRegistrationRequest, BrokerRegistrationResponse
from odradek.testing.controller.registration import register_broker

OLD, NEW = b"o" * 16, b"n" * 16
DIRECTORY, OTHER_DIRECTORY = b"d" * 16, b"e" * 16
TOPIC_ID = b"t" * 16
END_OFFSET = 40


def image_of() -> MetadataImage:
    """Broker 1 is unfenced and leads a partition; broker 2 is registered."""
    topic = TopicImage("orders", TOPIC_ID, {0: PartitionImage((1,), (DIRECTORY,), (1,), 1, 5, 7)})
    return MetadataImage(
        topics_by_name={"orders": topic},
        topics_by_id={TOPIC_ID: topic},
        brokers={
            1: BrokerRegistration(1, 10, OLD, {}, {}, None, False, True, (DIRECTORY,)),
            2: BrokerRegistration(2, 20, OLD, {}, {}, None, False, False, (OTHER_DIRECTORY,)),
        },
        features={"metadata.version": 30, "group.version": 1},
    )


def request(**changes: Any) -> BrokerRegistrationRequest:
    feature = BrokerRegistrationRequest.Feature
    features = [feature("metadata.version", 7, 30), feature("group.version", 0, 1)]
    wanted = BrokerRegistrationRequest(1, "cluster", NEW, features=features, log_dirs=[DIRECTORY])
    for name, value in changes.items():
        setattr(wanted, name, value)
    return wanted


def answer(
    image: MetadataImage, wanted: BrokerRegistrationRequest, *, has_session: bool = False
) -> BrokerRegistrationResponse:
    """Decides a request and applies the change to the image; returns the answer."""
    decision = register_broker(image, wanted, cluster_id="cluster", end_offset=END_OFFSET, has_session=has_session)
    for record in decision.records:
        replay(image, record, MetadataDelta())
    return decision.response


def test_new_incarnation_gets_the_offset_of_its_record_after_what_it_led() -> None:
    image = image_of()
    response = answer(image, request())
    assert (response.error_code, response.broker_epoch) == (ErrorCode.NONE, END_OFFSET + 1)
    broker = image.brokers[1]
    assert (broker.epoch, broker.incarnation_id, broker.fenced) == (END_OFFSET + 1, NEW, True)
    assert not broker.in_controlled_shutdown
    assert image.topics_by_id[TOPIC_ID].partitions[0].leader == NO_LEADER


def test_same_incarnation_keeps_its_epoch_and_state() -> None:
    image = image_of()
    response = answer(image, request(incarnation_id=OLD), has_session=True)
    assert (response.error_code, response.broker_epoch) == (ErrorCode.NONE, 10)
    broker = image.brokers[1]
    assert (broker.fenced, broker.in_controlled_shutdown) == (False, True)
    assert image.topics_by_id[TOPIC_ID].partitions[0].leader == 1


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"cluster_id": "another"}, ErrorCode.INCONSISTENT_CLUSTER_ID),
        ({"log_dirs": []}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": [DIRECTORY, DIRECTORY]}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": [DIRECTORY_UNASSIGNED]}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": [OTHER_DIRECTORY]}, ErrorCode.INVALID_REGISTRATION),
        ({"features": [BrokerRegistrationRequest.Feature("metadata.version", 7, 30)]}, ErrorCode.UNSUPPORTED_VERSION),
    ],
)
def test_refusals_change_nothing(changes: dict[str, Any], code: ErrorCode) -> None:
    image = image_of()
    assert answer(image, request(**changes)).error_code == code
    assert image.brokers == image_of().brokers


def test_node_id_is_taken_while_its_session_lives() -> None:
    image = image_of()
    assert answer(image, request(), has_session=True).error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
    assert answer(image, request()).error_code == ErrorCode.NONE
