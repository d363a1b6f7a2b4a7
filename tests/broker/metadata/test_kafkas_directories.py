"""Directories as real Kafkas leave them, each with one peculiarity: served, or refused with a reason."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from odradek.broker.config.errors import ConfigError
from odradek.broker.config.server_config import ServerConfig
from odradek.broker.metadata.image.image import (
    DIRECTORY_LOST,
    DIRECTORY_MIGRATING,
    DIRECTORY_UNASSIGNED,
    LeaderRecoveryState,
    PartitionImage,
)
from odradek.broker.metadata.log.format import bootstrap_checkpoint, control_records
from odradek.broker.metadata.log.log_reader import MetadataLogError
from odradek.broker.server.broker_server import BrokerServer
from odradek.protocol.internal_records.metadata_serde import encode_record
from odradek.protocol.messages import metadata_records as records
from odradek.protocol.messages.structure import Message
from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.control import ControlRecordType, encode_control_batch
from odradek.protocol.records.record import Record
from odradek.storage.log.read_result import FileRegion
from support.brokers.metadata_service import open_service
from support.kafka.directory import (
    DIRECTORY_ID,
    EMPTY_LOG,
    FIRST_CHECKPOINT,
    METADATA,
    MILLIONS_OF_ZEROS,
    NODE_ID,
    NOW_MS,
    RECORDS,
    TOPIC,
    TOPIC_ID,
    KafkaDirectory,
    partition,
    registration,
)

Change = Callable[[KafkaDirectory], object]


class Served:
    """The metadata and offsets that a broker of ours returns for a directory."""

    def __init__(self, server: BrokerServer) -> None:
        self.image = server.broker.metadata.image
        self.node_id = server.broker.metadata.node_id
        self.offsets = [
            self._read(server, index) for index in range(2) if server.broker.partitions.find(TOPIC, index) is not None
        ]

    @staticmethod
    def _read(server: BrokerServer, index: int) -> list[int]:
        found = server.broker.partitions.find(TOPIC, index)
        assert found is not None
        data = found.log.read(0, 1 << 20).data
        assert not isinstance(data, FileRegion)
        return [
            offset for _, header in iterate_headers(data) for offset in range(header.base_offset, header.next_offset)
        ]

    def partition(self, index: int = 0) -> PartitionImage:
        found = self.image.partition(TOPIC, index)
        assert found is not None
        return found


def serve(path: Path, *overrides: str, node_id: int = NODE_ID) -> Served:
    """Starts a broker on a directory, and stops it."""

    async def run() -> Served:
        keys = [f"node.id={node_id}", f"log.dirs={path}", "listeners=PLAINTEXT://127.0.0.1:0", *overrides]
        server = BrokerServer(ServerConfig.load(None, [*keys, "offsets.topic.num.partitions=1"], {}))
        await server.start()
        try:
            return Served(server)
        finally:
            await server.stop()

    return asyncio.run(run())


def assert_served(served: Served) -> None:
    """Asserts that all records from offset 0 are served, by a leader in the ISR whose epoch has risen."""
    assert served.offsets == [list(range(RECORDS))] * 2
    for index in range(2):
        found = served.partition(index)
        assert (found.leader, found.isr, found.eligible_leader_replicas, found.last_known_elr) == (0, (0,), (), ())
        assert found.leader_epoch > 0
        assert found.leader_recovery_state is LeaderRecoveryState.RECOVERED


def replace_partitions(**fields: object) -> Change:
    """Replaces the records of both partitions."""

    def change(directory: KafkaDirectory) -> None:
        topic = directory.metadata[-1][0]
        directory.metadata[-1] = [topic, *(partition(index, **fields) for index in range(2))]  # type: ignore[arg-type]

    return change


def add(*messages: Message, version: int = 0) -> Change:
    """Adds a batch to the metadata log."""
    return lambda directory: directory.metadata.append([(message, version) for message in messages])


def set_to(**fields: object) -> Change:
    def change(directory: KafkaDirectory) -> None:
        for name, value in fields.items():
            setattr(directory, name, value)

    return change


def one_batch(directory: KafkaDirectory) -> None:
    directory.metadata = [[record for batch in directory.metadata for record in batch]]


def no_features(directory: KafkaDirectory) -> None:
    del directory.metadata[0]


def no_registration(directory: KafkaDirectory) -> None:
    del directory.metadata[1]
    directory.clean_epoch = None


NO_LEADER = {"leader": -1, "isr": []}
TOPIC_FILES = [f"{TOPIC}-{index}/{EMPTY_LOG}" for index in range(2)]
SERVED: dict[str, Change] = {
    "as usual": lambda directory: None,
    "no LeaderChange record": set_to(leader_change=False),
    "no quorum-state": set_to(quorum_state=False),
    "no leader-epoch-checkpoint, no partition.metadata of the metadata log": set_to(
        without=(f"{METADATA}/leader-epoch-checkpoint", f"{METADATA}/partition.metadata")
    ),
    "no quorum-state, no leader-epoch-checkpoint": set_to(
        quorum_state=False, without=(f"{METADATA}/leader-epoch-checkpoint",)
    ),
    "a metadata transaction that did not end": add(
        records.BeginTransactionRecord("b"), records.TopicRecord("pending", bytes(range(16)))
    ),
    "all records in one batch": one_batch,
    "a gap of five offsets": set_to(gap=5),
    "leader epoch 9": set_to(leader_epoch=9),
    "the log's epoch ahead of the metadata's": set_to(log_epoch=3),
    "no partition.metadata": set_to(without=(f"{TOPIC}-0/partition.metadata", f"{TOPIC}-1/partition.metadata")),
    "in another directory, as the metadata says": replace_partitions(directory=bytes(range(1, 17))),
    "in a lost directory, as the metadata says": replace_partitions(directory=DIRECTORY_LOST),
    "no directory.id": set_to(directory_id=None),
    "directory MIGRATING": replace_partitions(directory=DIRECTORY_MIGRATING),
    "directory UNASSIGNED": replace_partitions(directory=DIRECTORY_UNASSIGNED),
    "partition records of version 0": replace_partitions(version=0),
    "no leader-epoch-checkpoint of the topic": set_to(
        without=tuple(f"{TOPIC}-{index}/leader-epoch-checkpoint" for index in range(2))
    ),
    "no indexes": set_to(
        without=tuple(f"{name}.{suffix}" for name in TOPIC_FILES for suffix in ("index", "timeindex"))
    ),
    "no indexes, killed": set_to(
        clean_epoch=None, without=tuple(f"{name}.{suffix}" for name in TOPIC_FILES for suffix in ("index", "timeindex"))
    ),
    "no checkpoints": set_to(
        without=(
            "recovery-point-offset-checkpoint",
            "replication-offset-checkpoint",
            "log-start-offset-checkpoint",
            "cleaner-offset-checkpoint",
        )
    ),
    "empty checkpoints, killed": set_to(
        clean_epoch=None,
        added={
            f"{name}-checkpoint": b""
            for name in ("recovery-point-offset", "replication-offset", "log-start-offset", "cleaner-offset")
        },
    ),
    "indexes of zeros, killed": set_to(
        clean_epoch=None, added={f"{name}.index": MILLIONS_OF_ZEROS for name in TOPIC_FILES}
    ),
    "no RegisterBroker record": no_registration,
    "no voters": set_to(voters=False),
    "registered, not fenced: killed": lambda directory: directory.metadata.__setitem__(1, [registration(fenced=False)]),
    "fenced by a later record": lambda directory: (
        directory.metadata.__setitem__(1, [registration(fenced=False)]),
        add(records.BrokerRegistrationChangeRecord(NODE_ID, 2, fenced=1))(directory),
    ),
    "stopped: no leader, eligible": replace_partitions(
        **NO_LEADER, eligible_leader_replicas=[NODE_ID], last_known_elr=[NODE_ID]
    ),
    "killed: no leader, last known to be eligible": replace_partitions(**NO_LEADER, last_known_elr=[NODE_ID]),
    "another epoch in the marker": set_to(clean_epoch=99),
    "no marker": set_to(clean_epoch=None),
    "stopping in controlled shutdown": lambda directory: directory.metadata.append(
        [(records.BrokerRegistrationChangeRecord(NODE_ID, 2, in_controlled_shutdown=1), 1)]
    ),
}


@pytest.mark.parametrize("name", SERVED)
def test_directory_is_served(tmp_path: Path, name: str) -> None:
    directory = KafkaDirectory()
    SERVED[name](directory)
    directory.write(tmp_path)
    for _ in range(2):
        assert_served(serve(tmp_path))


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("voters", [False, True], ids=["no voter record", "voter record"])
def test_directory_is_served_under_both_quorum_configurations(tmp_path: Path, dynamic: bool, voters: bool) -> None:
    quorum = (
        "controller.quorum.bootstrap.servers=127.0.0.1:9093" if dynamic else "controller.quorum.voters=0@127.0.0.1:9093"
    )
    KafkaDirectory(voters=voters).write(tmp_path)
    assert_served(serve(tmp_path, quorum))
    assert ((tmp_path / METADATA / FIRST_CHECKPOINT).exists()) == voters


def test_voters_that_stand_in_the_log_are_taken_from_there(tmp_path: Path) -> None:
    """A quorum that became dynamic, or whose voter has moved, has its voters in the log, after the first checkpoint."""
    KafkaDirectory(voters=False).write(tmp_path)
    checkpoint = bootstrap_checkpoint(NODE_ID, DIRECTORY_ID, ("CONTROLLER", "127.0.0.1", 19093), NOW_MS)
    kinds = (ControlRecordType.KRAFT_VERSION, ControlRecordType.KRAFT_VOTERS)
    found = [(kind, value) for kind, value in control_records(checkpoint) if kind in kinds]
    path = tmp_path / METADATA / f"{EMPTY_LOG}.log"
    batch = encode_control_batch(found, timestamp=NOW_MS, base_offset=6, partition_leader_epoch=1)
    path.write_bytes(path.read_bytes() + batch)
    assert_served(serve(tmp_path))
    assert json.loads((tmp_path / METADATA / "quorum-state").read_text())["data_version"] == 1
    with open_service(tmp_path, node_id=NODE_ID) as service:
        service.write_snapshot(NOW_MS)
        snapshot = tmp_path / METADATA / service.log.snapshot_ids[-1].file_name
    assert [one for one in control_records(snapshot.read_bytes()) if one[0] in kinds] == found


def with_levels(level: int, **levels: int) -> KafkaDirectory:
    directory = KafkaDirectory()
    features = [records.FeatureLevelRecord("metadata.version", level)]
    features += [records.FeatureLevelRecord(name.replace("_", "."), value) for name, value in levels.items()]
    directory.metadata[0] = [(feature, 0) for feature in features]
    return directory


@pytest.mark.parametrize(
    ("level", "levels"),
    [(6, {}), (34, {}), (7, {"eligible_leader_replicas_version": 1})],
    ids=["6", "34", "7 with ELR"],
)
def test_feature_levels_that_are_not_known_or_do_not_fit_are_refused(
    tmp_path: Path, level: int, levels: dict[str, int]
) -> None:
    with_levels(level, **levels).write(tmp_path)
    with pytest.raises(ConfigError, match=f"metadata.version.*{level}"):
        serve(tmp_path)


def test_directory_without_features_is_refused(tmp_path: Path) -> None:
    directory = KafkaDirectory()
    no_features(directory)
    directory.write(tmp_path)
    with pytest.raises(ConfigError, match=r"no metadata\.version"):
        serve(tmp_path)


def test_directory_of_another_node_is_refused(tmp_path: Path) -> None:
    KafkaDirectory().write(tmp_path)
    with pytest.raises(ConfigError, match=r"node\.id=0"):
        serve(tmp_path, node_id=1)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (b"\x01\x63\x00\x00", "Unknown metadata id 99"),
        (b"\x02\x14\x00\x00", "frame version 2"),
        (b"\x01\x02\x01\x00", "TopicRecord has no version 1"),
        (encode_record(records.TopicRecord(TOPIC, bytes(16)), 0), "topic t1 with id 0+ exists already"),
        (encode_record(records.RemoveTopicRecord(bytes(range(16))), 0), "no topic has the id"),
        (
            encode_record(records.PartitionRecord(1, TOPIC_ID, [0], [0], leader=0, leader_epoch=-3), 0),
            "partition 1 of topic t1 can't have leader epoch -3.* the record is PartitionRecord",
        ),
        (encode_record(records.TopicRecord("n" * 3000, bytes(range(16))), 0), r"'n{40}'\.\.\. has 3,000 bytes; .* 249"),
        (encode_record(records.TopicRecord("ä" * 125, bytes(range(16))), 0), "has 250 bytes"),
    ],
    ids=[
        *("unknown record", "unknown frame", "unknown version", "contradiction", "contradiction of an id"),
        *("negative leader epoch", "name of 3000 characters", "name of 250 bytes"),
    ],
)
def test_record_that_is_not_understood_is_refused_with_its_place(tmp_path: Path, value: bytes, says: str) -> None:
    KafkaDirectory().write(tmp_path)
    path = tmp_path / METADATA / f"{EMPTY_LOG}.log"
    size = path.stat().st_size
    batch = encode_batch([Record(6, NOW_MS, None, value, [])], base_offset=6, partition_leader_epoch=1)
    path.write_bytes(path.read_bytes() + batch)
    with pytest.raises(MetadataLogError, match=rf"{EMPTY_LOG}\.log, byte {size} \(offset 6\): .*{says}.*copy"):
        serve(tmp_path)
    assert path.stat().st_size == size + len(batch)


def test_topic_that_the_metadata_does_not_know_is_set_aside(tmp_path: Path) -> None:
    directory = KafkaDirectory()
    directory.metadata.append([(records.RemoveTopicRecord(TOPIC_ID), 0)])
    directory.write(tmp_path)
    assert serve(tmp_path).offsets == []
    assert len(list(tmp_path.glob(f"{TOPIC}-0.*-stray"))) == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"", "the file is empty"),
        (b"\n", "the file is empty"),
        (b"\x00" * 80, "it is not JSON"),
        (bytes(range(256)), "it is not JSON"),
        (b"{", "it is not JSON"),
        (b"[" * 100_000, "it is not JSON"),
        (b"[1]", "it is not a JSON object"),
        (b'{"leaderId":0,"data_version":0}', "leaderEpoch must be a number from 0 to 2147483647, not None"),
        (b'{"leaderId":0,"leaderEpoch":-3,"data_version":0}', "leaderEpoch must .* not -3"),
        (b'{"leaderId":0,"leaderEpoch":1e400,"data_version":0}', "leaderEpoch must .* not inf"),
        (b'{"leaderId":"0","leaderEpoch":1,"data_version":0}', "leaderId must .* not '0'"),
        (b'{"leaderId":0,"leaderEpoch":1,"data_version":7}', "data_version must be a number from 0 to 1, not 7"),
    ],
)
def test_quorum_state_that_cannot_be_read_is_named_and_left(tmp_path: Path, text: bytes, says: str) -> None:
    """The file may be removed: the epoch of the next start is higher than any in the log."""
    KafkaDirectory().write(tmp_path)
    path = tmp_path / METADATA / "quorum-state"
    path.write_bytes(text)
    with pytest.raises(MetadataLogError, match=rf"{METADATA}/quorum-state: {says}.*Put the file back .* remove it"):
        serve(tmp_path)
    assert path.read_bytes() == text
    path.unlink()
    serve(tmp_path)
