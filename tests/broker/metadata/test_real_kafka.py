"""The metadata log in both directions: a real Kafka 4.4.0 opens ours, and we open that of a real Kafka."""

from pathlib import Path

import pytest

from odradek.broker.config.server_config import ServerConfig
from odradek.broker.metadata.controller.auto_topic_creation import AutoTopicCreation
from odradek.broker.metadata.controller.topics import create_topics
from odradek.broker.metadata.image.image import LeaderRecoveryState, ResourceType
from odradek.broker.metadata.publisher.service import MetadataService
from odradek.broker.storage_tool.format import format_directories
from odradek.protocol.common.steps import run_to_end
from odradek.protocol.messages.metadata_records import ConfigRecord, FeatureLevelRecord
from odradek.protocol.messages.topics import CreateTopicsRequest
from odradek.storage.directory.log_directory import LogDirectory
from support.brokers.metadata_images import Topic, numbered_uuids
from support.brokers.metadata_service import controller_of, open_service
from support.brokers.our_broker import OurBroker
from support.door.metadata import metadata_records
from support.kafka.real_kafka import CLUSTER_ID, RealKafka

pytestmark = pytest.mark.java

NOW_MS = 1_795_000_000_000
TOPIC_COMMAND = "org.apache.kafka.tools.TopicCommand"
CONFIG_COMMAND = "org.apache.kafka.tools.ConfigCommand"
COMPACTED = CreateTopicsRequest.CreatableTopicConfig("cleanup.policy", "compact")


def create(service: MetadataService, *topics: CreateTopicsRequest.CreatableTopic) -> None:
    decision = run_to_end(create_topics(service.image, CreateTopicsRequest(list(topics)), controller_of()))
    response = run_to_end(service.carry_out(decision, NOW_MS))
    assert [topic.error_code for topic in response.topics] == [0] * len(topics)


def ok(kafka: RealKafka, tool: str, *arguments: str) -> str:
    result = kafka.run_tool(tool, "--bootstrap-server", kafka.bootstrap_servers, *arguments)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_dump_log_segments_decodes_our_metadata_log(tmp_path: Path) -> None:
    for _ in range(2):
        with open_service(tmp_path / "logs") as service:
            create(service, Topic(f"t{service.log.leader_epoch}", 2, 1, configs=[COMPACTED]))
    kafka = RealKafka(tmp_path)
    metadata = tmp_path / "logs" / "__cluster_metadata-0"
    dump = "org.apache.kafka.tools.DumpLogSegments"
    for name in ("00000000000000000000.log", "00000000000000000000-0000000000.checkpoint"):
        result = kafka.run_tool(dump, "--cluster-metadata-decoder", "--files", metadata / name)
        assert result.returncode == 0, result.stderr
        assert "Skipping" not in result.stdout
        assert "rror" not in result.stdout + result.stderr
        if name.endswith(".log"):
            for what in ("REGISTER_BROKER_RECORD", "FEATURE_LEVEL_RECORD", '"name":"t2"', "LeaderChange"):
                assert what in result.stdout
        else:
            assert "KRaftVoters" in result.stdout


@pytest.mark.parametrize("dynamic_quorum", [False, True], ids=["static", "dynamic"])
def test_real_kafka_starts_on_our_directory_and_we_on_it_again(tmp_path: Path, dynamic_quorum: bool) -> None:
    # With a dynamic quorum, our latest snapshot has all earlier metadata, the voter included.
    bounds = ("internal.metadata.log.segment.bytes=9000", "metadata.max.retention.bytes=1") if dynamic_quorum else ()
    with open_service(tmp_path / "logs", *bounds) as service:
        AutoTopicCreation(service, controller_of()).ensure("__consumer_offsets", NOW_MS)
        create(service, Topic("ours", 3, 1, configs=[COMPACTED]))
        if dynamic_quorum:
            for number in range(80):
                service.commit(
                    [ConfigRecord(ResourceType.GROUP, "g", "share.heartbeat.interval.ms", str(5000 + number))], NOW_MS
                )
            service.write_snapshot(NOW_MS)
            assert len(service.log.snapshot_ids) == 1
            assert service.log.log_start_offset > 80
        ids = {name: topic.topic_id for name, topic in service.image.topics_by_name.items()}
    with RealKafka(tmp_path, dynamic_quorum=dynamic_quorum) as kafka:
        described = ok(kafka, TOPIC_COMMAND, "--describe", "--topic", "ours")
        assert described.count("Leader: 1") == 3
        assert "cleanup.policy=compact" in described
        ok(kafka, TOPIC_COMMAND, "--create", "--topic", "theirs", "--partitions", "2", "--config", "retention.ms=5000")
        ok(kafka, TOPIC_COMMAND, "--delete", "--topic", "ours")
        complaints = [line for line in kafka.output.splitlines() if "DuplicateBrokerRegistration" in line]
        assert not complaints, "the fencing record of our stop lets Kafka register at once"
    with open_service(tmp_path / "logs") as service:
        topics = service.image.topics_by_name
        assert set(topics) == {"__consumer_offsets", "theirs"}
        assert topics["__consumer_offsets"].topic_id == ids["__consumer_offsets"]
        assert service.image.config_of(ResourceType.TOPIC, "theirs") == {"retention.ms": "5000"}
        for topic in topics.values():
            assert {one.leader for one in topic.partitions.values()} == {1}
            assert {one.isr for one in topic.partitions.values()} == {(1,)}
            assert {one.eligible_leader_replicas for one in topic.partitions.values()} == {()}


def test_our_image_is_what_a_real_kafka_wrote(tmp_path: Path) -> None:
    with RealKafka(tmp_path) as kafka:
        ok(kafka, TOPIC_COMMAND, "--create", "--topic", "t", "--partitions", "3", "--config", "segment.ms=70000")
        ok(kafka, CONFIG_COMMAND, "--alter", "--topic", "t", "--add-config", "cleanup.policy=compact")
        users = ["--alter", "--entity-type", "users", "--entity-name", "u"]
        ok(kafka, CONFIG_COMMAND, *users, "--add-config", "SCRAM-SHA-256=[iterations=4096,password=p]")
        ok(kafka, CONFIG_COMMAND, *users, "--add-config", "producer_byte_rate=1024")
        everyone = ["--alter", "--entity-type", "brokers", "--entity-default"]
        ok(kafka, CONFIG_COMMAND, *everyone, "--add-config", "log.cleaner.threads=2")
    service = open_image(tmp_path)
    image = service.image
    assert image.features["metadata.version"] == 33
    assert image.features["transaction.version"] == 2
    assert service.finalized_features()["transaction.version"] == 2
    assert service.finalized_features()["streams.version"] == 1
    assert service.finalized_features()["kraft.version"] == 1
    assert image.config_of(ResourceType.TOPIC, "t") == {"segment.ms": "70000", "cleanup.policy": "compact"}
    assert image.config_of(ResourceType.BROKER, "") == {"min.insync.replicas": "1", "log.cleaner.threads": "2"}
    assert image.client_quotas == {(("user", "u"),): {"producer_byte_rate": 1024.0}}
    assert [(name, one.iterations) for name, one in image.scram_credentials.items()] == [(("u", 1), 4096)]
    assert image.brokers[1].fenced, "a Kafka that was stopped has fenced itself"
    for partition in image.topics_by_name["t"].partitions.values():
        assert (partition.leader, partition.isr, partition.eligible_leader_replicas) == (-1, (), (1,))
        assert partition.leader_recovery_state is LeaderRecoveryState.RECOVERED


def open_image(tmp_path: Path) -> MetadataService:
    """Opens the service of a directory without starting it, and releases the lock."""
    directory = LogDirectory.open(tmp_path / "logs")
    assert directory.meta is not None
    service = MetadataService.open(
        directory,
        ServerConfig.load(None, ["node.id=1"], {}),
        directory_id=directory.meta.directory_id,
        now_ms=NOW_MS,
        random_uuid=numbered_uuids(),
    )
    directory.abort()
    return service


@pytest.mark.ci
def test_a_formatted_directory_begins_with_the_same_records(tmp_path: Path) -> None:
    """Both write the same features, and ``min.insync.replicas`` of the configuration."""
    kafka = RealKafka(tmp_path / "kafka", {"min.insync.replicas": "2"})
    with kafka:
        pass
    ours = RealKafka(tmp_path / "ours", {"min.insync.replicas": "2"})
    ours.directory.mkdir()
    path = tmp_path / "ours" / "server.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in ours.properties().items()))
    assert format_directories(["-c", str(path), "-t", CLUSTER_ID, "--standalone"]) == 0
    with OurBroker(tmp_path / "ours", {"node.id": "1", "min.insync.replicas": "2"}) as broker:
        broker.stop()

    def begins(directory: Path) -> list[tuple[str, ...]]:
        wanted = (FeatureLevelRecord, ConfigRecord)
        found = [record for record, _ in metadata_records(directory) if isinstance(record, wanted)]
        return [
            (one.name, str(one.feature_level)) if isinstance(one, FeatureLevelRecord) else (one.name, str(one.value))
            for one in found
            if isinstance(one, FeatureLevelRecord) or not one.resource_name
        ]

    assert begins(kafka.log_dir) == begins(tmp_path / "ours" / "logs")
    assert ("min.insync.replicas", "2") in begins(kafka.log_dir)
