"""A directory that Apache Kafka 4.4.0 has formatted at its own levels, and that no broker has used yet."""

from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from odradek.protocol.messages.metadata import ApiVersionsRequest
from support.brokers.asking import Asking
from support.brokers.our_broker import OurBroker
from support.kafka.java import TABLE_VERSION, java_or_skip
from support.kafka.real_kafka import CLUSTER_ID, RealKafka

pytestmark = [pytest.mark.java, pytest.mark.ci]

TOPIC, RECORDS = "orders", 20
TOOLS = "org.apache.kafka.tools"


@pytest.mark.parametrize("dynamic_quorum", [False, True], ids=["static", "dynamic"])
def test_we_begin_and_kafka_continues(tmp_path: Path, dynamic_quorum: bool) -> None:
    """Such a directory lacks bootstrap.checkpoint: the levels are in the first checkpoint of the metadata log."""
    java_or_skip(TABLE_VERSION)
    kafka = RealKafka(tmp_path, version=TABLE_VERSION, dynamic_quorum=dynamic_quorum)
    path = tmp_path / "format.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in kafka.properties().items()))
    options = ("--standalone",) if dynamic_quorum else ()
    formatted = kafka.run_tool("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", path, *options)
    assert formatted.returncode == 0, formatted.stdout + formatted.stderr
    assert not (kafka.log_dir / "bootstrap.checkpoint").exists()

    with OurBroker(tmp_path, {"node.id": "1"}) as ours:
        announced = Asking(ours.port).ask(ApiVersionsRequest("test", "1"), 4)
        finalized = {one.name: one.max_version_level for one in announced.finalized_features}
        assert finalized["metadata.version"] == 33
        assert finalized["share.version"] == 2
        assert finalized["streams.version"] == 1
        admin = AdminClient({"bootstrap.servers": ours.bootstrap_servers})
        admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result(60)
        producer = Producer({"bootstrap.servers": ours.bootstrap_servers})
        for number in range(RECORDS):
            producer.produce(TOPIC, str(number))
        assert producer.flush(60) == 0
        assert ours.stop() == 0
        assert "metadata.version is 33 (4.4-IV2): Apache Kafka before 4.4 can't use this directory" in ours.log()

    with kafka:
        server = ("--bootstrap-server", kafka.bootstrap_servers)
        offsets = kafka.run_tool(f"{TOOLS}.GetOffsetShell", *server, "--topic", TOPIC)
        assert f"{TOPIC}:0:{RECORDS}" in offsets.stdout, offsets.stdout + offsets.stderr
        features = kafka.run_tool(f"{TOOLS}.FeatureCommand", *server, "describe").stdout
        levels = {
            line.split()[1]: line.split("FinalizedVersionLevel: ")[1].split()[0] for line in features.splitlines()
        }
        assert levels["metadata.version"] == "4.4-IV2"
        assert (levels["share.version"], levels["streams.version"]) == ("2", "1")
