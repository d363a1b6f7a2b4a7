"""FindCoordinator: the broker that serves a group, and refused requests."""

from typing import Any

import pytest

from odradek.broker.api import find_coordinator
from odradek.broker.dispatch.request import RequestContext
from odradek.broker.metadata.image.image import BrokerRegistration, Endpoint
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages import groups as messages
from support.brokers.parts import CalledForTopics, ImageOnly, PartialBroker
from support.groups.harness import image_with_topics


def _find(version: int, request: messages.FindCoordinatorRequest, topics: list[str], alive: bool = True) -> Any:
    image = image_with_topics({})
    endpoint = Endpoint("PLAINTEXT", "broker.example", 9092)
    image.brokers[1] = BrokerRegistration(1, 0, bytes(16), {"PLAINTEXT": endpoint}, {}, None, not alive, False, ())
    created = {name: (bytes(16), 50) for name in topics}

    def ensure_topic(name: str) -> None:
        created[name] = (bytes(16), 50)
        image.topics_by_name.update(image_with_topics(created).topics_by_name)

    image.topics_by_name.update(image_with_topics(created).topics_by_name)
    broker = PartialBroker(metadata=ImageOnly(image), auto_topic_creation=CalledForTopics(ensure_topic))
    context = RequestContext(ApiKey.FIND_COORDINATOR, version, "c", "127.0.0.1", "PLAINTEXT", 0, 0)
    answers: list[messages.FindCoordinatorResponse] = []
    for _ in find_coordinator.handle(broker, request, context, answers.append) or ():
        pass
    [answer] = answers
    return answer


def test_a_group_finds_its_coordinator_though_nobody_made_the_topic() -> None:
    answer = _find(0, messages.FindCoordinatorRequest(key="g"), [])
    assert (answer.error_code, answer.node_id, answer.host, answer.port) == (0, 1, "broker.example", 9092)


def test_several_at_once() -> None:
    answer = _find(4, messages.FindCoordinatorRequest(coordinator_keys=["g", "h"]), ["__consumer_offsets"])
    assert [(found.key, found.error_code, found.node_id) for found in answer.coordinators] == [("g", 0, 1), ("h", 0, 1)]


def test_no_broker_that_listens_there() -> None:
    answer = _find(3, messages.FindCoordinatorRequest(key="g"), ["__consumer_offsets"], alive=False)
    assert (answer.error_code, answer.node_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1)


def test_other_coordinators_are_refused() -> None:
    answer = _find(6, messages.FindCoordinatorRequest(key_type=9, coordinator_keys=["k"]), [])
    assert answer.coordinators[0].error_code == ErrorCode.INVALID_REQUEST


TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAA"
SHARE_KEYS = {
    f"g:{TOPIC_ID}:0": True,
    f"a:b:{TOPIC_ID}:-1": True,
    f"g:{TOPIC_ID}:+1": True,
    f"g:{TOPIC_ID}:1::": True,
    f"g:{TOPIC_ID}==:1": True,
    f"g:{TOPIC_ID}=:1": False,
    f"g:{TOPIC_ID}A:1": False,
    f"g:{TOPIC_ID[:-1]}*:1": False,
    f"g:{TOPIC_ID[:-2]}:1": False,
    f"g:{TOPIC_ID}:x": False,
    f"g:{TOPIC_ID}: 1": False,
    f"g:{TOPIC_ID}:2147483648": False,
    f":{TOPIC_ID}:0": False,
    f" :{TOPIC_ID}:0": False,
    "g::1": False,
    "g:1": False,
    "g": False,
    "": False,
}
"""Keys of share partitions, and whether Kafka 4.4.0 takes them."""


@pytest.mark.parametrize("key", SHARE_KEYS)
def test_the_keys_of_share_partitions(key: str) -> None:
    answer = _find(6, messages.FindCoordinatorRequest(key_type=2, coordinator_keys=[key]), [])
    error = ErrorCode.NONE if SHARE_KEYS[key] else ErrorCode.INVALID_REQUEST
    assert [(found.key, found.error_code) for found in answer.coordinators] == [(key, error)]


def test_older_versions_know_no_share_coordinators() -> None:
    answer = _find(5, messages.FindCoordinatorRequest(key_type=2, coordinator_keys=[f"g:{TOPIC_ID}:0"]), [])
    assert answer.coordinators[0].error_code == ErrorCode.INVALID_REQUEST
