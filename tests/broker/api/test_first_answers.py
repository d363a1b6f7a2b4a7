"""The first answers of a new broker that docs/differences.md describes: auto-creation, and the offsets topic."""

from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.metadata import MetadataRequest
from odradek.protocol.messages.topics import DeleteTopicsRequest
from odradek.testing import InProcessBroker
from support.brokers.asking import Asking


def asked_for(*names: str) -> list[MetadataRequest.MetadataRequestTopic]:
    return [MetadataRequest.MetadataRequestTopic(name=name) for name in names]


def test_a_topic_that_is_created_by_asking_has_its_leader_at_once(kafka: InProcessBroker) -> None:
    asking = Asking(kafka.port)
    [topic] = asking.ask(MetadataRequest(asked_for("orders"), allow_auto_topic_creation=True), 12).topics
    assert topic.error_code == ErrorCode.NONE
    assert [partition.leader_id for partition in topic.partitions] == [1]
    assert asking.produce("orders", 0, b"one") == ErrorCode.NONE


def test_a_deleted_topic_is_gone_for_those_who_do_not_create_it(kafka: InProcessBroker) -> None:
    asking = Asking(kafka.port)
    assert asking.create("orders", 1) == ErrorCode.NONE
    [deleted] = asking.ask(DeleteTopicsRequest(topic_names=["orders"], timeout_ms=10_000), 5).responses
    assert deleted.error_code == ErrorCode.NONE
    [topic] = asking.ask(MetadataRequest(asked_for("orders"), allow_auto_topic_creation=False), 12).topics
    assert topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_the_topic_of_offsets_is_ready_internal_and_without_files(kafka: InProcessBroker) -> None:
    [topic] = Asking(kafka.port).ask(MetadataRequest(None, allow_auto_topic_creation=False), 12).topics
    assert (topic.name, topic.is_internal, len(topic.partitions)) == ("__consumer_offsets", True, 3)
    assert not list(kafka.log_dir.glob("__consumer_offsets-*"))
