"""The metadata service on a real directory: its files, also after a stop or a crash."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from odradek.broker.config.errors import ConfigError
from odradek.broker.metadata.controller.auto_topic_creation import AutoTopicCreation
from odradek.broker.metadata.controller.own_controller import ProducerIds
from odradek.broker.metadata.controller.registration import bootstrap_records
from odradek.broker.metadata.controller.topics import create_topics
from odradek.broker.metadata.image.features import ELIGIBLE_LEADER_REPLICAS_VERSION, feature_records
from odradek.broker.metadata.image.image import MetadataDelta, MetadataImage, ResourceType
from odradek.broker.metadata.image.replay import replay
from odradek.broker.metadata.log.format import control_records
from odradek.broker.metadata.publisher.published import MAX_RECORDS_AFTER_STOP
from odradek.broker.metadata.publisher.service import MetadataService
from odradek.broker.storage_tool.formatting import bootstrap_snapshot
from odradek.protocol.common.steps import run_to_end
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.internal_records.metadata_serde import encode_record
from odradek.protocol.messages.metadata_records import (
    AbortTransactionRecord,
    AccessControlEntryRecord,
    BeginTransactionRecord,
    BrokerRegistrationChangeRecord,
    ClientQuotaRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    NoOpRecord,
    RegisterBrokerRecord,
    TopicRecord,
    UserScramCredentialRecord,
)
from odradek.protocol.messages.structure import Message
from odradek.protocol.messages.topics import CreateTopicsRequest
from odradek.protocol.names.topics import OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.control import ControlRecordType, encode_control_batch
from odradek.protocol.records.record import Record
from odradek.protocol.security.scram_credential import ScramCredential
from support.brokers.metadata_images import ENDPOINT, Topic, apply, controller
from support.brokers.metadata_service import NOW_MS, controller_of, open_service

METADATA = "__cluster_metadata-0"


def create(service: MetadataService, *names: str, partitions: int = 2) -> None:
    request = CreateTopicsRequest([Topic(name, partitions, 1) for name in names])
    response = run_to_end(service.carry_out(run_to_end(create_topics(service.image, request, controller_of())), NOW_MS))
    assert [topic.error_code for topic in response.topics] == [0] * len(names)


def written(service: MetadataService) -> list[Message]:
    return [record.message for record in service.log.load()]


def test_fresh_directory_is_formatted_registered_and_fenced_again(tmp_path: Path) -> None:
    with open_service(tmp_path) as service:
        epoch = service.image.brokers[1].epoch
        assert epoch == 8, "behind LeaderChange, six features and one config"
        broker = service.image.brokers[1]
        assert (broker.epoch, broker.fenced, broker.endpoints) == (epoch, False, {"PLAINTEXT": ENDPOINT})
        assert service.finalized_features() == {
            "metadata.version": 33,
            "eligible.leader.replicas.version": 1,
            "group.version": 1,
            "share.version": 2,
            "streams.version": 1,
            "transaction.version": 2,
            "kraft.version": 1,
        }
        assert service.finalized_features_epoch() == service.log.log_end_offset - 1
        first = [type(message) for message in written(service)]
        assert first[0] is FeatureLevelRecord
        assert first[-2:] == [RegisterBrokerRecord, BrokerRegistrationChangeRecord]
    state = json.loads((tmp_path / METADATA / "quorum-state").read_text())
    assert (state["leaderId"], state["leaderEpoch"], state["data_version"]) == (1, 1, 1)
    checkpoint = tmp_path / METADATA / "00000000000000000000-0000000000.checkpoint"
    assert checkpoint.stat().st_mode & 0o777 == 0o444
    kinds = [kind for kind, _ in control_records(checkpoint.read_bytes())]
    assert ControlRecordType.KRAFT_VOTERS in kinds
    log = (tmp_path / METADATA / "00000000000000000000.log").read_bytes()
    assert [kind for kind, _ in control_records(log)] == [ControlRecordType.LEADER_CHANGE]
    assert json.loads((tmp_path / ".kafka_cleanshutdown").read_text())["brokerEpoch"] == epoch
    with open_service(tmp_path, crash=True) as service:
        fenced = BrokerRegistrationChangeRecord(1, epoch, fenced=1)
        assert fenced in written(service), "what the first stop wrote"


def test_levels_in_the_first_checkpoint_are_written_into_the_log(tmp_path: Path) -> None:
    """Kafka 4.4 formats so. It starts only on a log that has the levels itself."""
    levels = {"metadata.version": 33, "later.version": 1, "group.version": 1}
    checkpoint = tmp_path / METADATA / "00000000000000000000-0000000000.checkpoint"
    checkpoint.parent.mkdir()
    checkpoint.write_bytes(bootstrap_snapshot(feature_records(levels), NOW_MS))
    for _ in range(2):
        with open_service(tmp_path) as service:
            assert service.image.features == levels
            assert service.finalized_features() == {"metadata.version": 33, "group.version": 1}, (
                "the others are unknown"
            )
            found = [message for message in written(service) if isinstance(message, FeatureLevelRecord)]
            assert {one.name: one.feature_level for one in found} == levels
            assert len(found) == len(levels)


@pytest.mark.parametrize("crash", [False, True], ids=["stopped", "killed"])
def test_everything_is_there_again_in_new_epochs(tmp_path: Path, crash: bool) -> None:
    with open_service(tmp_path, crash=crash) as service:
        create(service, "a", "b")
        service.commit([AccessControlEntryRecord(id=b"a" * 16, resource_name="r")], NOW_MS)
        before = service.image
    with open_service(tmp_path) as service:
        image = service.image
        assert {name: topic.topic_id for name, topic in image.topics_by_name.items()} == {
            name: topic.topic_id for name, topic in before.topics_by_name.items()
        }
        assert image.acls == before.acls != {}
        assert image.brokers[1].epoch > before.brokers[1].epoch
        assert service.log.leader_epoch == 2
        partitions = [one for topic in image.topics_by_name.values() for one in topic.partitions.values()]
        assert {(one.leader, one.isr, one.leader_epoch) for one in partitions} == {(1, (1,), 1 if crash else 2)}
        assert {one.leader_recovery_state for one in partitions} == {0}


def test_image_loaded_is_the_image_served(tmp_path: Path) -> None:
    with open_service(tmp_path) as service:
        create(service, "a", "b")
        AutoTopicCreation(service, controller_of()).ensure(OFFSETS_TOPIC, NOW_MS)
        loaded = MetadataImage()
        for record in service.log.load():
            replay(loaded, record.message, MetadataDelta(), record.version)
        assert loaded.topics_by_name == service.image.topics_by_name
        assert loaded.configs == service.image.configs
        assert loaded.brokers == service.image.brokers
        assert loaded.features == service.image.features


def test_subscribers_hear_of_a_change_before_it_is_answered(tmp_path: Path) -> None:
    heard: list[tuple[list[str], int]] = []

    def subscriber(image: MetadataImage, delta: MetadataDelta) -> Iterator[None]:
        yield
        heard.append(([topic.name for topic in delta.created_topics.values()], len(delta.changed_partitions)))

    with open_service(tmp_path) as service:
        service.subscribe(subscriber)
        create(service, "a", partitions=3)
        assert heard == [(["a"], 3)]
        service.commit([], NOW_MS)
        assert len(heard) == 1, "no records, no change"


def test_offsets_topic_is_as_kafka_makes_it(tmp_path: Path) -> None:
    with open_service(tmp_path) as service:
        AutoTopicCreation(service, controller_of()).ensure(OFFSETS_TOPIC, NOW_MS)
        AutoTopicCreation(service, controller_of()).ensure(OFFSETS_TOPIC, NOW_MS)
        assert len(service.image.topics_by_name[OFFSETS_TOPIC].partitions) == 50
        assert service.image.config_of(ResourceType.TOPIC, OFFSETS_TOPIC) == {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": "104857600",
        }
        AutoTopicCreation(service, controller_of()).ensure(TRANSACTION_STATE_TOPIC, NOW_MS)
        configs = service.image.config_of(ResourceType.TOPIC, TRANSACTION_STATE_TOPIC)
        assert configs["unclean.leader.election.enable"] == "false"
        assert configs["min.insync.replicas"] == "1"


def test_topic_that_cannot_be_created_is_an_error(tmp_path: Path) -> None:
    three_replicas = "offsets.topic.replication.factor=3"
    with open_service(tmp_path, three_replicas) as service:
        with pytest.raises(KafkaError) as raised:
            AutoTopicCreation(service, controller_of(three_replicas)).ensure(OFFSETS_TOPIC, NOW_MS)
        assert raised.value.error_code is ErrorCode.INVALID_REPLICATION_FACTOR


def test_producer_ids_are_never_given_out_twice(tmp_path: Path) -> None:
    with open_service(tmp_path, crash=True) as service:
        producer_ids = ProducerIds(service, controller_of())
        first = [producer_ids.next_id(NOW_MS) for _ in range(1001)]
        assert first == list(range(1001))
        assert service.image.next_producer_id == 2000
    with open_service(tmp_path) as service:
        assert ProducerIds(service, controller_of()).next_id(NOW_MS) == 2000


def test_more_records_than_kafka_writes_for_one_request_are_refused(tmp_path: Path) -> None:
    with open_service(tmp_path) as service:
        request = CreateTopicsRequest([Topic("t", 10_000, 1)])
        decision = run_to_end(create_topics(service.image, request, controller_of()))
        with pytest.raises(KafkaError) as raised:
            run_to_end(service.carry_out(decision, NOW_MS))
        assert raised.value.error_code is ErrorCode.POLICY_VIOLATION
        assert "t" not in service.image.topics_by_name


def append_batches(tmp_path: Path, base_offset: int, *batches: Iterable[Message]) -> None:
    """Appends batches to a stopped service's log, as a killed controller leaves them."""
    with (tmp_path / METADATA / "00000000000000000000.log").open("ab") as log:
        for batch in batches:
            records = [
                Record(base_offset + index, NOW_MS, None, encode_record(message, 0), [])
                for index, message in enumerate(batch)
            ]
            log.write(encode_batch(records, base_offset=base_offset, partition_leader_epoch=1))
            base_offset += len(records)
    (tmp_path / ".kafka_cleanshutdown").unlink()


TOPIC = TopicRecord("pending", b"p" * 16)


def stopped_at(tmp_path: Path) -> int:
    with open_service(tmp_path) as service:
        pass
    return service.log.log_end_offset


def test_metadata_transaction_counts_when_it_ends(tmp_path: Path) -> None:
    append_batches(tmp_path, stopped_at(tmp_path), [BeginTransactionRecord("b"), TOPIC], [EndTransactionRecord()])
    with open_service(tmp_path) as service:
        assert "pending" in service.image.topics_by_name


def test_aborted_metadata_transaction_leaves_nothing(tmp_path: Path) -> None:
    append_batches(tmp_path, stopped_at(tmp_path), [BeginTransactionRecord("b"), TOPIC, AbortTransactionRecord("x")])
    with open_service(tmp_path) as service:
        assert "pending" not in service.image.topics_by_name


def test_open_metadata_transaction_is_aborted_at_start(tmp_path: Path) -> None:
    append_batches(tmp_path, stopped_at(tmp_path), [BeginTransactionRecord("b"), TOPIC])
    for _ in range(2):
        with open_service(tmp_path) as service:
            assert "pending" not in service.image.topics_by_name
            assert sum(isinstance(message, AbortTransactionRecord) for message in written(service)) == 1


def test_no_ops_of_a_kafka_are_passed_over(tmp_path: Path) -> None:
    append_batches(tmp_path, stopped_at(tmp_path), [NoOpRecord()], [NoOpRecord(), TOPIC, NoOpRecord()])
    with open_service(tmp_path) as service:
        assert "pending" in service.image.topics_by_name


def test_directory_of_another_node_is_refused(tmp_path: Path) -> None:
    stopped_at(tmp_path)
    with pytest.raises(ConfigError, match=r"node.id=1"), open_service(tmp_path, node_id=2):
        pass


@pytest.mark.parametrize("level", [6, 34])
def test_metadata_version_that_is_not_known_is_refused(tmp_path: Path, level: int) -> None:
    append_batches(tmp_path, stopped_at(tmp_path), [FeatureLevelRecord("metadata.version", level)])
    with pytest.raises(ConfigError, match=f"metadata.version {level}"), open_service(tmp_path):
        pass


def test_directory_of_an_older_kafka_keeps_its_record_versions(tmp_path: Path) -> None:
    levels = [FeatureLevelRecord("metadata.version", 21), FeatureLevelRecord("eligible.leader.replicas.version", 0)]
    append_batches(tmp_path, stopped_at(tmp_path), levels)
    with open_service(tmp_path) as service:
        create(service, "a")
        versions = {type(record.message): record.version for record in service.log.load()}
        assert versions[RegisterBrokerRecord] == 3
        assert service.finalized_features()["metadata.version"] == 21


def snapshot_of(service: MetadataService) -> bytes:
    """A snapshot as Kafka takes it: header, the records, footer."""
    values = [encode_record(record.message, record.version) for record in service.log.load()]
    data = [Record(1 + index, NOW_MS, None, value, []) for index, value in enumerate(values)]
    control = {"timestamp": NOW_MS, "partition_leader_epoch": 1}
    return (
        encode_control_batch([(ControlRecordType.SNAPSHOT_HEADER, bytes(11))], base_offset=0, **control)
        + encode_batch(data, base_offset=1, partition_leader_epoch=1)
        + encode_control_batch([(ControlRecordType.SNAPSHOT_FOOTER, bytes(3))], base_offset=len(data) + 1, **control)
    )


def test_snapshot_is_loaded_and_the_log_behind_it(tmp_path: Path) -> None:
    with open_service(tmp_path) as service:
        create(service, "in the snapshot".replace(" ", "-"))
        snapshot = snapshot_of(service)
        end_offset = service.log.log_end_offset
        create(service, "behind-it")
    path = tmp_path / METADATA / f"{end_offset:020d}-0000000001.checkpoint"
    path.write_bytes(snapshot)
    for _ in range(2):
        with open_service(tmp_path) as service:
            assert set(service.image.topics_by_name) == {"in-the-snapshot", "behind-it"}


def test_directory_with_a_snapshot_and_no_log_before_it(tmp_path: Path) -> None:
    with open_service(tmp_path) as service:
        create(service, "t")
        snapshot = snapshot_of(service)
        end_offset = service.log.log_end_offset
    for path in (tmp_path / METADATA).iterdir():
        if path.suffix in (".log", ".index", ".timeindex", ".snapshot"):
            path.unlink()
    (tmp_path / METADATA / "leader-epoch-checkpoint").write_text("0\n0\n")
    (tmp_path / METADATA / f"{end_offset:020d}.log").touch()
    (tmp_path / METADATA / f"{end_offset:020d}-0000000001.checkpoint").write_bytes(snapshot)
    for name in ("recovery-point-offset-checkpoint", "log-start-offset-checkpoint", ".kafka_cleanshutdown"):
        (tmp_path / name).unlink()
    with open_service(tmp_path) as service:
        assert service.log.log_start_offset == end_offset
        assert set(service.image.topics_by_name) == {"t"}
        assert service.image.brokers[1].epoch == end_offset + 1


def test_directory_that_kafkas_own_tool_formatted_begins_as_it_was_told(tmp_path: Path) -> None:
    user = UserScramCredentialRecord("u", 1, b"salt", b"stored", b"server", 4096)
    told: list[Message] = [FeatureLevelRecord("metadata.version", 25), FeatureLevelRecord("later.version", 1), user]
    records = [Record(index, NOW_MS, None, encode_record(message, 0), []) for index, message in enumerate(told)]
    (tmp_path / "bootstrap.checkpoint").write_bytes(encode_batch(records, partition_leader_epoch=0))
    with open_service(tmp_path) as service:
        assert service.image.features == {"metadata.version": 25, "later.version": 1}
        assert service.image.scram_credentials == {("u", 1): ScramCredential(b"salt", b"stored", b"server", 4096)}
        assert "later.version" not in service.finalized_features(), "what is not served is not promised"


def test_our_snapshot_replays_to_the_same_image(tmp_path: Path) -> None:
    with open_service(tmp_path) as service:
        create(service, "a", "b", partitions=3)
        quota = ClientQuotaRecord([ClientQuotaRecord.EntityData("user", None)], "producer_byte_rate", 4.0)
        acl = AccessControlEntryRecord(id=b"a" * 16, resource_name="r")
        service.commit([quota, acl, ConfigRecord(ResourceType.GROUP, "g", "k", "v")], NOW_MS)
        ProducerIds(service, controller_of()).next_id(NOW_MS)
        service.write_snapshot(NOW_MS)
        before = service.image
        [_, snapshot] = sorted((tmp_path / METADATA).glob("*.checkpoint"))
        kinds = [kind for kind, _ in control_records(snapshot.read_bytes())]
        assert kinds == [
            ControlRecordType.SNAPSHOT_HEADER,
            ControlRecordType.KRAFT_VERSION,
            ControlRecordType.KRAFT_VOTERS,
            ControlRecordType.SNAPSHOT_FOOTER,
        ]
        from_snapshot = [record for record in service.log.load() if record.offset < 0]
        assert len(from_snapshot) == len(list(service.log.load())), "nothing of the log before it is read"
        loaded = MetadataImage()
        for record in from_snapshot:
            replay(loaded, record.message, MetadataDelta(), record.version)
        for name in (
            "topics_by_id",
            "configs",
            "features",
            "client_quotas",
            "next_producer_id",
            "acls",
            "scram_credentials",
        ):
            assert getattr(loaded, name) == getattr(before, name), name
        assert loaded.brokers[1].epoch == before.brokers[1].epoch


@pytest.mark.parametrize(("level", "minimum"), [(1, {"min.insync.replicas": "2"}), (0, {})])
def test_with_eligible_leader_replicas_the_cluster_begins_with_the_nodes_min_insync_replicas(
    level: int, minimum: dict[str, str]
) -> None:
    """As Kafka 4.4.0 does on its first start, also after ``kafka-storage format``."""
    config = controller("min.insync.replicas=2").config
    formatted = [
        FeatureLevelRecord("metadata.version", 33),
        FeatureLevelRecord(ELIGIBLE_LEADER_REPLICAS_VERSION, level),
    ]
    image = MetadataImage()
    apply(image, bootstrap_records(config, formatted))
    assert image.config_of(ResourceType.BROKER, "") == minimum
    assert image.metadata_version == 33


def test_stop_that_leaves_much_to_read_leaves_a_snapshot(tmp_path: Path) -> None:
    found = []
    for index in range(4):
        with open_service(tmp_path) as service:
            create(service, f"t{index}")
            service.commit(
                [ConfigRecord(ResourceType.GROUP, "g", "k", "v")] * (MAX_RECORDS_AFTER_STOP * 3 // 5), NOW_MS
            )
            assert len(service.image.topics_by_name) == index + 1
        found.append(len(list((tmp_path / METADATA).glob("*.checkpoint"))))
    assert found == [1, 2, 2, 3], "the first one, and one for every two starts"
