"""Snapshots and control records of the quorum, producer snapshots of a log.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from typing import ClassVar

from .structure import NEW_LIST, ZERO_UUID, Message, Structure


class ControlRecordTypeSchema(Message):
    """Kafka's ControlRecordTypeSchema (data), versions 0.

    - type: int16, versions 0+
    """

    __slots__ = ("type",)

    NAME: ClassVar[str] = "ControlRecordTypeSchema"
    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        type: int = 0,
    ) -> None:
        self.type = type
        self.unknown_tagged_fields = None


class KRaftVersionRecord(Message):
    """Kafka's KRaftVersionRecord (data), versions 0, flexible 0+.

    - version: int16, versions 0+
    - k_raft_version: int16, versions 0+
    """

    __slots__ = (
        "version",
        "k_raft_version",
    )

    NAME: ClassVar[str] = "KRaftVersionRecord"
    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        version: int = 0,
        k_raft_version: int = 0,
    ) -> None:
        self.version = version
        self.k_raft_version = k_raft_version
        self.unknown_tagged_fields = None


class LeaderChangeMessage(Message):
    """Kafka's LeaderChangeMessage (data), versions 0-1, flexible 0+.

    - version: int16, versions 0+
    - leader_id: int32, versions 0+
    - voters: []Voter, versions 0+
    - granting_voters: []Voter, versions 0+
    """

    class Voter(Structure):
        """Structure Voter, versions 0+.

        - voter_id: int32, versions 0+
        - voter_directory_id: uuid, versions 1+
        """

        __slots__ = (
            "voter_id",
            "voter_directory_id",
        )

        def __init__(
            self,
            voter_id: int = 0,
            voter_directory_id: bytes = ZERO_UUID,
        ) -> None:
            self.voter_id = voter_id
            self.voter_directory_id = voter_directory_id
            self.unknown_tagged_fields = None

    __slots__ = (
        "version",
        "leader_id",
        "voters",
        "granting_voters",
    )

    NAME: ClassVar[str] = "LeaderChangeMessage"
    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        version: int = 0,
        leader_id: int = 0,
        voters: list[LeaderChangeMessage.Voter] | None = None,
        granting_voters: list[LeaderChangeMessage.Voter] | None = None,
    ) -> None:
        self.version = version
        self.leader_id = leader_id
        self.voters = [] if voters is None else voters
        self.granting_voters = [] if granting_voters is None else granting_voters
        self.unknown_tagged_fields = None


class ProducerSnapshot(Message):
    """Kafka's ProducerSnapshot (data), versions 1.

    - crc: uint32, versions 1
    - producer_entries: []ProducerEntry, versions 1
    """

    class ProducerEntry(Structure):
        """Structure ProducerEntry, versions 1.

        - producer_id: int64, versions 1; the id of an idempotent or transactional producer
        - epoch: int16, versions 1
        - last_sequence: int32, versions 1
        - last_offset: int64, versions 1
        - offset_delta: int32, versions 1
        - timestamp: int64, versions 1
        - coordinator_epoch: int32, versions 1
        - current_txn_first_offset: int64, versions 1
        """

        __slots__ = (
            "producer_id",
            "epoch",
            "last_sequence",
            "last_offset",
            "offset_delta",
            "timestamp",
            "coordinator_epoch",
            "current_txn_first_offset",
        )

        def __init__(
            self,
            producer_id: int = 0,
            epoch: int = 0,
            last_sequence: int = 0,
            last_offset: int = 0,
            offset_delta: int = 0,
            timestamp: int = 0,
            coordinator_epoch: int = 0,
            current_txn_first_offset: int = 0,
        ) -> None:
            self.producer_id = producer_id
            self.epoch = epoch
            self.last_sequence = last_sequence
            self.last_offset = last_offset
            self.offset_delta = offset_delta
            self.timestamp = timestamp
            self.coordinator_epoch = coordinator_epoch
            self.current_txn_first_offset = current_txn_first_offset
            self.unknown_tagged_fields = None

    __slots__ = (
        "crc",
        "producer_entries",
    )

    NAME: ClassVar[str] = "ProducerSnapshot"
    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[tuple[int, int]] = (1, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        crc: int = 0,
        producer_entries: list[ProducerSnapshot.ProducerEntry] | None = None,
    ) -> None:
        self.crc = crc
        self.producer_entries = [] if producer_entries is None else producer_entries
        self.unknown_tagged_fields = None


class QuorumStateData(Message):
    """Kafka's QuorumStateData (data), versions 0-1, flexible 0+.

    - cluster_id: string, versions 0
    - leader_id: int32, versions 0+
    - leader_epoch: int32, versions 0+; counts the changes of the leader
    - voted_id: int32, versions 0+
    - voted_directory_id: uuid, versions 1+
    - applied_offset: int64, versions 0
    - current_voters: []Voter, versions 0, nullable 0
    """

    class Voter(Structure):
        """Structure Voter, versions 0.

        - voter_id: int32, versions 0
        """

        __slots__ = ("voter_id",)

        def __init__(
            self,
            voter_id: int = 0,
        ) -> None:
            self.voter_id = voter_id
            self.unknown_tagged_fields = None

    __slots__ = (
        "cluster_id",
        "leader_id",
        "leader_epoch",
        "voted_id",
        "voted_directory_id",
        "applied_offset",
        "current_voters",
    )

    NAME: ClassVar[str] = "QuorumStateData"
    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        cluster_id: str = "",
        leader_id: int = -1,
        leader_epoch: int = -1,
        voted_id: int = -1,
        voted_directory_id: bytes = ZERO_UUID,
        applied_offset: int = 0,
        current_voters: list[QuorumStateData.Voter] | None = NEW_LIST,
    ) -> None:
        self.cluster_id = cluster_id
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.voted_id = voted_id
        self.voted_directory_id = voted_directory_id
        self.applied_offset = applied_offset
        self.current_voters = [] if current_voters is NEW_LIST else current_voters
        self.unknown_tagged_fields = None


class SnapshotFooterRecord(Message):
    """Kafka's SnapshotFooterRecord (data), versions 0, flexible 0+.

    - version: int16, versions 0+
    """

    __slots__ = ("version",)

    NAME: ClassVar[str] = "SnapshotFooterRecord"
    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        version: int = 0,
    ) -> None:
        self.version = version
        self.unknown_tagged_fields = None


class SnapshotHeaderRecord(Message):
    """Kafka's SnapshotHeaderRecord (data), versions 0, flexible 0+.

    - version: int16, versions 0+
    - last_contained_log_timestamp: int64, versions 0+
    """

    __slots__ = (
        "version",
        "last_contained_log_timestamp",
    )

    NAME: ClassVar[str] = "SnapshotHeaderRecord"
    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        version: int = 0,
        last_contained_log_timestamp: int = 0,
    ) -> None:
        self.version = version
        self.last_contained_log_timestamp = last_contained_log_timestamp
        self.unknown_tagged_fields = None


class VotersRecord(Message):
    """Kafka's VotersRecord (data), versions 0, flexible 0+.

    - version: int16, versions 0+
    - voters: []Voter, versions 0+
    """

    class Endpoint(Structure):
        """Structure Endpoint, versions 0+.

        - name: string, versions 0+, map key
        - host: string, versions 0+
        - port: uint16, versions 0+
        """

        __slots__ = (
            "name",
            "host",
            "port",
        )

        def __init__(
            self,
            name: str = "",
            host: str = "",
            port: int = 0,
        ) -> None:
            self.name = name
            self.host = host
            self.port = port
            self.unknown_tagged_fields = None

    class KRaftVersionFeature(Structure):
        """Structure KRaftVersionFeature, versions 0+.

        - min_supported_version: int16, versions 0+
        - max_supported_version: int16, versions 0+
        """

        __slots__ = (
            "min_supported_version",
            "max_supported_version",
        )

        def __init__(
            self,
            min_supported_version: int = 0,
            max_supported_version: int = 0,
        ) -> None:
            self.min_supported_version = min_supported_version
            self.max_supported_version = max_supported_version
            self.unknown_tagged_fields = None

    class Voter(Structure):
        """Structure Voter, versions 0+.

        - voter_id: int32, versions 0+
        - voter_directory_id: uuid, versions 0+
        - endpoints: []Endpoint, versions 0+
        - k_raft_version_feature: KRaftVersionFeature, versions 0+
        """

        __slots__ = (
            "voter_id",
            "voter_directory_id",
            "endpoints",
            "k_raft_version_feature",
        )

        def __init__(
            self,
            voter_id: int = 0,
            voter_directory_id: bytes = ZERO_UUID,
            endpoints: list[VotersRecord.Endpoint] | None = None,
            k_raft_version_feature: VotersRecord.KRaftVersionFeature | None = None,
        ) -> None:
            self.voter_id = voter_id
            self.voter_directory_id = voter_directory_id
            self.endpoints = [] if endpoints is None else endpoints
            self.k_raft_version_feature = (
                VotersRecord.KRaftVersionFeature() if k_raft_version_feature is None else k_raft_version_feature
            )
            self.unknown_tagged_fields = None

    __slots__ = (
        "version",
        "voters",
    )

    NAME: ClassVar[str] = "VotersRecord"
    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        version: int = 0,
        voters: list[VotersRecord.Voter] | None = None,
    ) -> None:
        self.version = version
        self.voters = [] if voters is None else voters
        self.unknown_tagged_fields = None
