"""A log directory as a real Kafka 4.3 leaves it, made byte by byte, so that a test can change any single part.

    directory = KafkaDirectory()
    directory.metadata.insert(...)                  # or any other part
    directory.write(path)

Broker 0 with one topic of two partitions, twelve records each. Source: what Kafka 4.3.1 writes and requires, by
observation.
"""

import base64
import json
from dataclasses import dataclass, field
from pathlib import Path

from odradek.broker.metadata.log.format import bootstrap_checkpoint, leader_change_batch
from odradek.protocol.internal_records.metadata_serde import encode_record
from odradek.protocol.messages import metadata_records as records
from odradek.protocol.messages.structure import Message
from odradek.protocol.records.builder import BatchBuilder

NODE_ID = 0
DIRECTORY_ID = bytes.fromhex("00112233445566778899aabbccddeeff")
TOPIC_ID = bytes.fromhex("101112131415161718191a1b1c1d1e1f")
TOPIC = "t1"
RECORDS = 12
NOW_MS = 1_795_000_000_000
METADATA = "__cluster_metadata-0"
FIRST_CHECKPOINT = "00000000000000000000-0000000000.checkpoint"
EMPTY_LOG = "00000000000000000000"
CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
MILLIONS_OF_ZEROS = bytes(10 << 20)

Versioned = tuple[Message, int]


def text_of(uuid: bytes) -> str:
    return base64.urlsafe_b64encode(uuid).decode().rstrip("=")


def partition(index: int, *, version: int = 2, directory: bytes = DIRECTORY_ID, **fields: object) -> Versioned:
    """A partition that broker 0 leads."""
    record = records.PartitionRecord(
        index, TOPIC_ID, replicas=[NODE_ID], isr=[NODE_ID], leader=NODE_ID, leader_epoch=0, partition_epoch=0
    )
    if version >= 1:
        record.directories = [directory]
    for name, value in fields.items():
        setattr(record, name, value)
    return record, version


def registration(*, fenced: bool = True, epoch: int = 2, directory: bytes = DIRECTORY_ID) -> Versioned:
    """The registration of the broker."""
    kind = records.RegisterBrokerRecord
    end_points = [kind.BrokerEndpoint("PLAINTEXT", "127.0.0.1", 9092, 0)]
    features = [kind.BrokerFeature("metadata.version", 7, 30)]
    record = kind(NODE_ID, broker_epoch=epoch, incarnation_id=bytes(range(16)), end_points=end_points)
    record.features, record.fenced, record.log_dirs = features, fenced, [directory]
    return record, 4


@dataclass(slots=True)
class KafkaDirectory:
    """The parts of the directory; :meth:`write` writes them."""

    node_id: int = NODE_ID
    directory_id: bytes | None = DIRECTORY_ID
    metadata: list[list[Versioned]] = field(
        default_factory=lambda: [
            [(records.FeatureLevelRecord("metadata.version", 30), 0)],
            [registration()],
            [(records.TopicRecord(TOPIC, TOPIC_ID), 0), partition(0), partition(1)],
        ]
    )
    """Batches of metadata records."""
    gap: int = 0
    """The number of offsets to skip before the last batch."""
    leader_change: bool = True
    leader_epoch: int = 1
    voters: bool = True
    """Whether to write the first checkpoint; without it a Kafka needs controller.quorum.voters."""
    quorum_state: bool = True
    clean_epoch: int | None = 2
    """The broker epoch in the marker of a clean stop; None for a killed broker."""
    log_epoch: int = 0
    """The leader epoch of the topic's batches."""
    without: tuple[str, ...] = ()
    """Files that are not written, relative to the log directory."""
    added: dict[str, bytes] = field(default_factory=dict)
    """Files that are added or replaced."""

    def write(self, path: Path) -> None:
        """Makes the directory."""
        files = self.added | {}
        for name, data in {**self._root(), **self._metadata(), **self._topic()}.items():
            files.setdefault(name, data)
        for name, data in files.items():
            if name not in self.without:
                (path / name).parent.mkdir(parents=True, exist_ok=True)
                (path / name).write_bytes(data)

    def _root(self) -> dict[str, bytes]:
        lines = ["version=1", f"node.id={self.node_id}", f"cluster.id={CLUSTER_ID}"]
        if self.directory_id is not None:
            lines.append(f"directory.id={text_of(self.directory_id)}")
        offsets = f"0\n2\n{TOPIC} 0 {RECORDS}\n{TOPIC} 1 {RECORDS}\n".encode()
        root = {
            "meta.properties": "".join(f"{line}\n" for line in lines).encode(),
            "recovery-point-offset-checkpoint": offsets,
            "replication-offset-checkpoint": offsets,
            "log-start-offset-checkpoint": b"0\n0\n",
            "cleaner-offset-checkpoint": b"",
        }
        if self.clean_epoch is not None:
            root[".kafka_cleanshutdown"] = json.dumps({"version": 0, "brokerEpoch": self.clean_epoch}).encode()
        return root

    def _metadata(self) -> dict[str, bytes]:
        epoch = self.leader_epoch
        made = [leader_change_batch(self.node_id, epoch, 0, NOW_MS)] if self.leader_change else []
        offset = len(made)
        for number, batch in enumerate(self.metadata):
            if number == len(self.metadata) - 1:
                offset += self.gap
            builder = BatchBuilder(base_offset=offset, partition_leader_epoch=epoch)
            for message, version in batch:
                builder.append(NOW_MS, None, encode_record(message, version))
            made.append(builder.build())
            offset = builder.last_offset + 1
        state = {"leaderId": self.node_id, "leaderEpoch": epoch, "votedId": -1}
        voted = {"votedDirectoryId": "AAAAAAAAAAAAAAAAAAAAAA", "data_version": 1}
        static = {"clusterId": "", "appliedOffset": 0, "currentVoters": [{"voterId": self.node_id}], "data_version": 0}
        files = {
            f"{METADATA}/{EMPTY_LOG}.log": b"".join(made),
            f"{METADATA}/partition.metadata": b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ",
            f"{METADATA}/leader-epoch-checkpoint": f"0\n1\n{epoch} 0\n".encode(),
        }
        if self.quorum_state:
            files[f"{METADATA}/quorum-state"] = json.dumps(state | (voted if self.voters else static)).encode()
        if self.voters:
            files[f"{METADATA}/{FIRST_CHECKPOINT}"] = bootstrap_checkpoint(
                self.node_id, self.directory_id or DIRECTORY_ID, ("CONTROLLER", "127.0.0.1", 9093), NOW_MS
            )
        return files

    def _topic(self) -> dict[str, bytes]:
        files: dict[str, bytes] = {}
        for index in range(2):
            batches = []
            for base in range(0, RECORDS, 4):
                builder = BatchBuilder(base_offset=base, partition_leader_epoch=self.log_epoch)
                for offset in range(base, base + 4):
                    builder.append(NOW_MS + offset, None, b"%d" % offset)
                batches.append(builder.build())
            name = f"{TOPIC}-{index}"
            files |= {
                f"{name}/{EMPTY_LOG}.log": b"".join(batches),
                f"{name}/{EMPTY_LOG}.index": b"",
                f"{name}/{EMPTY_LOG}.timeindex": b"",
                f"{name}/partition.metadata": f"version: 0\ntopic_id: {text_of(TOPIC_ID)}".encode(),
                f"{name}/leader-epoch-checkpoint": f"0\n1\n{self.log_epoch} 0\n".encode(),
            }
        return files
