"""Our broker beside one of Apache Kafka 4.4.0's, under a controller of 4.4.0 at metadata.version 4.4-IV2."""

from pathlib import Path

import pytest
from confluent_kafka import Consumer

from cluster.plain_clients import create_topic, produce_numbers
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.metadata import ApiVersionsRequest
from odradek.protocol.messages.quorum import UnregisterControllerRequest
from support.brokers.asking import Asking
from support.kafka.java import TABLE_VERSION, java_or_skip
from support.kafka.real_controllers import RealControllers

pytestmark = [pytest.mark.java, pytest.mark.ci]

TOPIC, RECORDS = "orders", 200
LATEST_LEVEL = 33


def test_a_broker_joins_and_replicates(tmp_path: Path) -> None:
    """Records come back from both leaders. UnregisterController reaches the controllers."""
    java_or_skip(TABLE_VERSION)
    features = {"metadata.version": LATEST_LEVEL}
    with (
        RealControllers(tmp_path / "controllers", features=features, version=TABLE_VERSION) as controllers,
        controllers.broker(tmp_path / "b1", 1) as ours,
        controllers.kafka_broker(tmp_path / "b2", 2) as kafka,
    ):
        asking = Asking(ours.port)
        announced = asking.ask(ApiVersionsRequest("test", "1"), 5)
        assert {one.name: one.max_version_level for one in announced.finalized_features}[
            "metadata.version"
        ] == LATEST_LEVEL
        servers = f"{ours.bootstrap_servers},{kafka.bootstrap_servers}"
        create_topic(servers, TOPIC, [[1, 2], [2, 1]], **{"min.insync.replicas": "2"})
        produce_numbers(servers, TOPIC, RECORDS)
        consumer = Consumer({"bootstrap.servers": servers, "group.id": "g", "auto.offset.reset": "earliest"})
        consumer.subscribe([TOPIC])
        values = {int(message.value() or b"") for message in consumer.consume(RECORDS, 60)}
        consumer.close()
        assert values == set(range(RECORDS))
        refused = asking.ask(UnregisterControllerRequest(77), 0)
        assert refused.error_code == ErrorCode.CONTROLLER_ID_NOT_REGISTERED
        assert ours.stop() == 0
        assert " ERROR " not in ours.log()
