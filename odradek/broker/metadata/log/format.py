"""The files of a new ``__cluster_metadata-0`` besides its log: the first checkpoint and quorum-state.

Pure. The checkpoint has a control batch of header, kraft.version and voters, the records that the first leader writes
into the log (as since Kafka 4.4), and a control batch with the footer. With the voters, a real Kafka starts on the
directory with ``controller.quorum.voters`` and with ``controller.quorum.bootstrap.servers``. Source: Kafka's Formatter,
RecordsSnapshotWriter, QuorumStateData, KIP-853.
"""

import base64
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from odradek.protocol.codec import decode, encode
from odradek.protocol.internal_records.metadata_serde import encode_record
from odradek.protocol.messages.snapshots import (
    KRaftVersionRecord,
    LeaderChangeMessage,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
)
from odradek.protocol.messages.structure import ZERO_UUID, Message
from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.builder import BatchBuilder
from odradek.protocol.records.control import ControlRecordType, control_record_type, encode_control_batch
from odradek.protocol.records.record import iterate_records

from ..image.features import LATEST_KRAFT_VERSION

QUORUM_STATE = "quorum-state"
MAX_INT32 = 2**31 - 1
NO_VOTE = -1


def bootstrap_checkpoint(
    node_id: int,
    directory_id: bytes,
    endpoint: tuple[str, str, int] | None,
    now_ms: int,
    records: Sequence[Message] = (),
) -> bytes:
    """The first checkpoint: this node is the only voter, reached at ``endpoint`` (listener, host, port). None: the
    directory names no voters, since the configuration does. ``records``: for the first leader, all in version 0.
    """
    head = [(ControlRecordType.SNAPSHOT_HEADER, encode(SnapshotHeaderRecord(last_contained_log_timestamp=now_ms), 0))]
    if endpoint is not None:
        voter = VotersRecord.Voter(
            node_id,
            directory_id,
            [VotersRecord.Endpoint(*endpoint)],
            VotersRecord.KRaftVersionFeature(0, LATEST_KRAFT_VERSION),
        )
        head.append((ControlRecordType.KRAFT_VERSION, encode(KRaftVersionRecord(0, LATEST_KRAFT_VERSION), 0)))
        head.append((ControlRecordType.KRAFT_VOTERS, encode(VotersRecord(0, [voter]), 0)))
    return snapshot_of(head, records, now_ms)


def snapshot_of(head: Sequence[tuple[ControlRecordType, bytes]], records: Sequence[Message], now_ms: int) -> bytes:
    """The bytes of a snapshot with these control records and metadata records, which are written in version 0."""
    batches = [encode_control_batch(head, timestamp=now_ms, base_offset=0, partition_leader_epoch=0)]
    after = len(head)
    if records:
        builder = BatchBuilder(base_offset=after, partition_leader_epoch=0)
        for record in records:
            builder.append(now_ms, None, encode_record(record, 0))
        after = builder.last_offset + 1
        batches.append(builder.build())
    foot = [(ControlRecordType.SNAPSHOT_FOOTER, encode(SnapshotFooterRecord(), 0))]
    batches.append(encode_control_batch(foot, timestamp=now_ms, base_offset=after, partition_leader_epoch=0))
    return b"".join(batches)


def leader_change_batch(node_id: int, epoch: int, base_offset: int, now_ms: int) -> bytes:
    """The control batch at the beginning of a leader's epoch: it was elected by the only voter, itself."""
    message = LeaderChangeMessage(
        version=0,
        leader_id=node_id,
        voters=[LeaderChangeMessage.Voter(node_id)],
        granting_voters=[LeaderChangeMessage.Voter(node_id)],
    )
    return encode_control_batch(
        [(ControlRecordType.LEADER_CHANGE, encode(message, 0))],
        timestamp=now_ms,
        base_offset=base_offset,
        partition_leader_epoch=epoch,
    )


def control_records(batches: bytes | memoryview) -> Iterator[tuple[ControlRecordType, bytes]]:
    """The control records among whole batches. Raises the errors of ``iterate_records``."""
    for position, header in iterate_headers(batches):
        if header.is_control:
            for record in iterate_records(batches, header, position):
                yield control_record_type(record.key), record.value or b""


def last_contained_log_timestamp(snapshot: bytes) -> int:
    """The time of the last record that a snapshot covers, ms since 1970. ``snapshot`` may be only its first bytes."""
    for kind, value in control_records(snapshot):
        if kind is ControlRecordType.SNAPSHOT_HEADER:
            message, _ = decode(SnapshotHeaderRecord, 0, value)
            return message.last_contained_log_timestamp
    raise ValueError("a snapshot begins with a SnapshotHeader record")


def kraft_version_of(value: bytes) -> int:
    """The level in a KRaftVersion control record."""
    message, _ = decode(KRaftVersionRecord, 0, value)
    return message.k_raft_version


@dataclass(frozen=True, slots=True)
class QuorumState:
    """The content of ``quorum-state``. ``data_version`` is 0 for kraft.version 0 (static voters), 1 from 1 on."""

    leader_id: int
    leader_epoch: int
    data_version: int

    @classmethod
    def parse(cls, text: bytes) -> "QuorumState":
        """Parses the file's JSON. Raises ValueError with what is wrong."""
        if not text.strip():
            raise ValueError("the file is empty")
        try:
            state = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"it is not JSON: {error}") from None
        if not isinstance(state, dict):
            raise ValueError("it is not a JSON object")
        numbers = []
        for name, lowest, highest in (
            ("leaderId", -1, MAX_INT32),
            ("leaderEpoch", 0, MAX_INT32),
            ("data_version", 0, 1),
        ):
            number = state.get(name)
            if type(number) is not int or not lowest <= number <= highest:
                raise ValueError(f"{name} must be a number from {lowest} to {highest}, not {number!r:.100}")
            numbers.append(number)
        return cls(*numbers)

    def to_json(self) -> bytes:
        """The JSON as Kafka writes it."""
        state: dict[str, object] = {"leaderId": self.leader_id, "leaderEpoch": self.leader_epoch, "votedId": NO_VOTE}
        if self.data_version == 0:
            voters = [{"voterId": self.leader_id}]
            state = {"clusterId": "", **state, "appliedOffset": 0, "currentVoters": voters}
        else:
            state["votedDirectoryId"] = base64.urlsafe_b64encode(ZERO_UUID).decode().rstrip("=")
        return json.dumps({**state, "data_version": self.data_version}, separators=(",", ":")).encode()
