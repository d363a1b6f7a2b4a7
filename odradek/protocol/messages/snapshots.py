"""Snapshots and control records of the quorum, producer snapshots of a log.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from .structure import NEW_LIST, NEW_NULLABLE_LIST, NEW_STRUCTURE, ZERO_UUID, Message, Structure


class ControlRecordTypeSchema(Message):
    """Kafka's ControlRecordTypeSchema (data), versions 0."""

    NAME = "ControlRecordTypeSchema"
    API_KEY = -1
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 32767

    type: int = 0
    """int16, versions 0+"""


class KRaftVersionRecord(Message):
    """Kafka's KRaftVersionRecord (data), versions 0, flexible 0+."""

    NAME = "KRaftVersionRecord"
    API_KEY = -1
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    version: int = 0
    """int16, versions 0+"""
    k_raft_version: int = 0
    """int16, versions 0+"""


class LeaderChangeMessage(Message):
    """Kafka's LeaderChangeMessage (data), versions 0-1, flexible 0+."""

    class Voter(Structure):
        """Structure Voter, versions 0+."""

        voter_id: int = 0
        """int32, versions 0+"""
        voter_directory_id: bytes = ZERO_UUID
        """uuid, versions 1+"""

    NAME = "LeaderChangeMessage"
    API_KEY = -1
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    version: int = 0
    """int16, versions 0+"""
    leader_id: int = 0
    """int32, versions 0+"""
    voters: list[LeaderChangeMessage.Voter] = NEW_LIST
    """[]Voter, versions 0+"""
    granting_voters: list[LeaderChangeMessage.Voter] = NEW_LIST
    """[]Voter, versions 0+"""


class ProducerSnapshot(Message):
    """Kafka's ProducerSnapshot (data), versions 1."""

    class ProducerEntry(Structure):
        """Structure ProducerEntry, versions 1."""

        producer_id: int = 0
        """int64, versions 1; the id of an idempotent or transactional producer"""
        epoch: int = 0
        """int16, versions 1"""
        last_sequence: int = 0
        """int32, versions 1"""
        last_offset: int = 0
        """int64, versions 1"""
        offset_delta: int = 0
        """int32, versions 1"""
        timestamp: int = 0
        """int64, versions 1"""
        coordinator_epoch: int = 0
        """int32, versions 1"""
        current_txn_first_offset: int = 0
        """int64, versions 1"""

    NAME = "ProducerSnapshot"
    API_KEY = -1
    VERSIONS = (1, 1)
    FLEXIBLE_SINCE = 32767

    crc: int = 0
    """uint32, versions 1"""
    producer_entries: list[ProducerSnapshot.ProducerEntry] = NEW_LIST
    """[]ProducerEntry, versions 1"""


class QuorumStateData(Message):
    """Kafka's QuorumStateData (data), versions 0-1, flexible 0+."""

    class Voter(Structure):
        """Structure Voter, versions 0."""

        voter_id: int = 0
        """int32, versions 0"""

    NAME = "QuorumStateData"
    API_KEY = -1
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    cluster_id: str = ""
    """string, versions 0"""
    leader_id: int = -1
    """int32, versions 0+"""
    leader_epoch: int = -1
    """int32, versions 0+; counts the changes of the leader"""
    voted_id: int = -1
    """int32, versions 0+"""
    voted_directory_id: bytes = ZERO_UUID
    """uuid, versions 1+"""
    applied_offset: int = 0
    """int64, versions 0"""
    current_voters: list[QuorumStateData.Voter] | None = NEW_NULLABLE_LIST
    """[]Voter, versions 0, nullable 0"""


class SnapshotFooterRecord(Message):
    """Kafka's SnapshotFooterRecord (data), versions 0, flexible 0+."""

    NAME = "SnapshotFooterRecord"
    API_KEY = -1
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    version: int = 0
    """int16, versions 0+"""


class SnapshotHeaderRecord(Message):
    """Kafka's SnapshotHeaderRecord (data), versions 0, flexible 0+."""

    NAME = "SnapshotHeaderRecord"
    API_KEY = -1
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    version: int = 0
    """int16, versions 0+"""
    last_contained_log_timestamp: int = 0
    """int64, versions 0+"""


class VotersRecord(Message):
    """Kafka's VotersRecord (data), versions 0, flexible 0+."""

    class Endpoint(Structure):
        """Structure Endpoint, versions 0+."""

        name: str = ""
        """string, versions 0+, map key"""
        host: str = ""
        """string, versions 0+"""
        port: int = 0
        """uint16, versions 0+"""

    class KRaftVersionFeature(Structure):
        """Structure KRaftVersionFeature, versions 0+."""

        min_supported_version: int = 0
        """int16, versions 0+"""
        max_supported_version: int = 0
        """int16, versions 0+"""

    class Voter(Structure):
        """Structure Voter, versions 0+."""

        voter_id: int = 0
        """int32, versions 0+"""
        voter_directory_id: bytes = ZERO_UUID
        """uuid, versions 0+"""
        endpoints: list[VotersRecord.Endpoint] = NEW_LIST
        """[]Endpoint, versions 0+"""
        k_raft_version_feature: VotersRecord.KRaftVersionFeature = NEW_STRUCTURE
        """KRaftVersionFeature, versions 0+"""

    NAME = "VotersRecord"
    API_KEY = -1
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    version: int = 0
    """int16, versions 0+"""
    voters: list[VotersRecord.Voter] = NEW_LIST
    """[]Voter, versions 0+"""
