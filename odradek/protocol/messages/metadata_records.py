"""Records of the metadata log, ``__cluster_metadata``.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from .structure import NEW_LIST, ZERO_UUID, Message, Structure


class AbortTransactionRecord(Message):
    """Kafka's AbortTransactionRecord (metadata record), type 25, versions 0, flexible 0+."""

    NAME = "AbortTransactionRecord"
    API_KEY = 25
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    reason: str | None = None
    """string, versions 0+, nullable 0+, tag 0"""


class AccessControlEntryRecord(Message):
    """Kafka's AccessControlEntryRecord (metadata record), type 18, versions 0, flexible 0+."""

    NAME = "AccessControlEntryRecord"
    API_KEY = 18
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    id: bytes = ZERO_UUID
    """uuid, versions 0+"""
    resource_type: int = 0
    """int8, versions 0+"""
    resource_name: str = ""
    """string, versions 0+"""
    pattern_type: int = 0
    """int8, versions 0+"""
    principal: str = ""
    """string, versions 0+"""
    host: str = ""
    """string, versions 0+"""
    operation: int = 0
    """int8, versions 0+"""
    permission_type: int = 0
    """int8, versions 0+"""


class BeginTransactionRecord(Message):
    """Kafka's BeginTransactionRecord (metadata record), type 23, versions 0, flexible 0+."""

    NAME = "BeginTransactionRecord"
    API_KEY = 23
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    name: str | None = None
    """string, versions 0+, nullable 0+, tag 0"""


class BrokerRegistrationChangeRecord(Message):
    """Kafka's BrokerRegistrationChangeRecord (metadata record), type 17, versions 0-3, flexible 0+."""

    NAME = "BrokerRegistrationChangeRecord"
    API_KEY = 17
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 0

    broker_id: int = 0
    """int32, versions 0+"""
    broker_epoch: int = 0
    """int64, versions 0+; the epoch of the broker's registration"""
    fenced: int = 0
    """int8, versions 0+, tag 0"""
    in_controlled_shutdown: int = 0
    """int8, versions 1+, tag 1"""
    log_dirs: list[bytes] = NEW_LIST
    """[]uuid, versions 2+, tag 2"""
    cordoned_log_dirs: list[bytes] | None = None
    """[]uuid, versions 3+, nullable 3+, tag 3"""


class ClearElrRecord(Message):
    """Kafka's ClearElrRecord (metadata record), type 28, versions 0, flexible 0+."""

    NAME = "ClearElrRecord"
    API_KEY = 28
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    topic_name: str = ""
    """string, versions 0+"""


class ClientQuotaRecord(Message):
    """Kafka's ClientQuotaRecord (metadata record), type 14, versions 0, flexible 0+."""

    class EntityData(Structure):
        """Structure EntityData, versions 0+."""

        entity_type: str = ""
        """string, versions 0+"""
        entity_name: str | None = ""
        """string, versions 0+, nullable 0+"""

    NAME = "ClientQuotaRecord"
    API_KEY = 14
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    entity: list[ClientQuotaRecord.EntityData] = NEW_LIST
    """[]EntityData, versions 0+"""
    key: str = ""
    """string, versions 0+"""
    value: float = 0.0
    """float64, versions 0+"""
    remove: bool = False
    """bool, versions 0+"""


class ConfigRecord(Message):
    """Kafka's ConfigRecord (metadata record), type 4, versions 0, flexible 0+."""

    NAME = "ConfigRecord"
    API_KEY = 4
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    resource_type: int = 0
    """int8, versions 0+"""
    resource_name: str = ""
    """string, versions 0+"""
    name: str = ""
    """string, versions 0+"""
    value: str | None = ""
    """string, versions 0+, nullable 0+"""


class DelegationTokenRecord(Message):
    """Kafka's DelegationTokenRecord (metadata record), type 10, versions 0, flexible 0+."""

    NAME = "DelegationTokenRecord"
    API_KEY = 10
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    owner: str = ""
    """string, versions 0+"""
    requester: str = ""
    """string, versions 0+"""
    renewers: list[str] = NEW_LIST
    """[]string, versions 0+"""
    issue_timestamp: int = 0
    """int64, versions 0+"""
    max_timestamp: int = 0
    """int64, versions 0+"""
    expiration_timestamp: int = 0
    """int64, versions 0+"""
    token_id: str = ""
    """string, versions 0+"""


class EndTransactionRecord(Message):
    """Kafka's EndTransactionRecord (metadata record), type 24, versions 0, flexible 0+."""

    NAME = "EndTransactionRecord"
    API_KEY = 24
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0


class FeatureLevelRecord(Message):
    """Kafka's FeatureLevelRecord (metadata record), type 12, versions 0, flexible 0+."""

    NAME = "FeatureLevelRecord"
    API_KEY = 12
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    name: str = ""
    """string, versions 0+"""
    feature_level: int = 0
    """int16, versions 0+"""


class FenceBrokerRecord(Message):
    """Kafka's FenceBrokerRecord (metadata record), type 7, versions 0, flexible 0+."""

    NAME = "FenceBrokerRecord"
    API_KEY = 7
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    id: int = 0
    """int32, versions 0+"""
    epoch: int = 0
    """int64, versions 0+"""


class NoOpRecord(Message):
    """Kafka's NoOpRecord (metadata record), type 20, versions 0, flexible 0+."""

    NAME = "NoOpRecord"
    API_KEY = 20
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0


class PartitionChangeRecord(Message):
    """Kafka's PartitionChangeRecord (metadata record), type 5, versions 0-2, flexible 0+."""

    NAME = "PartitionChangeRecord"
    API_KEY = 5
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 0

    partition_id: int = -1
    """int32, versions 0+"""
    topic_id: bytes = ZERO_UUID
    """uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)"""
    isr: list[int] | None = None
    """[]int32, versions 0+, nullable 0+, tag 0"""
    leader: int = -2
    """int32, versions 0+, tag 1"""
    replicas: list[int] | None = None
    """[]int32, versions 0+, nullable 0+, tag 2"""
    removing_replicas: list[int] | None = None
    """[]int32, versions 0+, nullable 0+, tag 3"""
    adding_replicas: list[int] | None = None
    """[]int32, versions 0+, nullable 0+, tag 4"""
    leader_recovery_state: int = -1
    """int8, versions 0+, tag 5"""
    directories: list[bytes] | None = None
    """[]uuid, versions 1+, nullable 1+, tag 8"""
    eligible_leader_replicas: list[int] | None = None
    """[]int32, versions 2+, nullable 2+, tag 6"""
    last_known_elr: list[int] | None = None
    """[]int32, versions 2+, nullable 2+, tag 7"""


class PartitionRecord(Message):
    """Kafka's PartitionRecord (metadata record), type 3, versions 0-2, flexible 0+."""

    NAME = "PartitionRecord"
    API_KEY = 3
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 0

    partition_id: int = -1
    """int32, versions 0+"""
    topic_id: bytes = ZERO_UUID
    """uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)"""
    replicas: list[int] = NEW_LIST
    """[]int32, versions 0+"""
    isr: list[int] = NEW_LIST
    """[]int32, versions 0+"""
    removing_replicas: list[int] = NEW_LIST
    """[]int32, versions 0+"""
    adding_replicas: list[int] = NEW_LIST
    """[]int32, versions 0+"""
    leader: int = -1
    """int32, versions 0+"""
    leader_recovery_state: int = 0
    """int8, versions 0+, tag 0"""
    leader_epoch: int = -1
    """int32, versions 0+; counts the changes of the leader"""
    partition_epoch: int = -1
    """int32, versions 0+"""
    directories: list[bytes] = NEW_LIST
    """[]uuid, versions 1+"""
    eligible_leader_replicas: list[int] | None = None
    """[]int32, versions 2+, nullable 2+, tag 1"""
    last_known_elr: list[int] | None = None
    """[]int32, versions 2+, nullable 2+, tag 2"""


class ProducerIdsRecord(Message):
    """Kafka's ProducerIdsRecord (metadata record), type 15, versions 0, flexible 0+."""

    NAME = "ProducerIdsRecord"
    API_KEY = 15
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    broker_id: int = 0
    """int32, versions 0+"""
    broker_epoch: int = -1
    """int64, versions 0+; the epoch of the broker's registration"""
    next_producer_id: int = 0
    """int64, versions 0+"""


class RegisterBrokerRecord(Message):
    """Kafka's RegisterBrokerRecord (metadata record), type 0, versions 0-4, flexible 0+."""

    class BrokerEndpoint(Structure):
        """Structure BrokerEndpoint, versions 0+."""

        name: str = ""
        """string, versions 0+, map key"""
        host: str = ""
        """string, versions 0+"""
        port: int = 0
        """uint16, versions 0+"""
        security_protocol: int = 0
        """int16, versions 0+"""

    class BrokerFeature(Structure):
        """Structure BrokerFeature, versions 0+."""

        name: str = ""
        """string, versions 0+, map key"""
        min_supported_version: int = 0
        """int16, versions 0+"""
        max_supported_version: int = 0
        """int16, versions 0+"""

    NAME = "RegisterBrokerRecord"
    API_KEY = 0
    VERSIONS = (0, 4)
    FLEXIBLE_SINCE = 0

    broker_id: int = 0
    """int32, versions 0+"""
    is_migrating_zk_broker: bool = False
    """bool, versions 2+"""
    incarnation_id: bytes = ZERO_UUID
    """uuid, versions 0+; is new at each start of the process"""
    broker_epoch: int = 0
    """int64, versions 0+; the epoch of the broker's registration"""
    end_points: list[RegisterBrokerRecord.BrokerEndpoint] = NEW_LIST
    """[]BrokerEndpoint, versions 0+"""
    features: list[RegisterBrokerRecord.BrokerFeature] = NEW_LIST
    """[]BrokerFeature, versions 0+"""
    rack: str | None = ""
    """string, versions 0+, nullable 0+"""
    fenced: bool = True
    """bool, versions 0+"""
    in_controlled_shutdown: bool = False
    """bool, versions 1+"""
    log_dirs: list[bytes] = NEW_LIST
    """[]uuid, versions 3+, tag 0"""
    cordoned_log_dirs: list[bytes] | None = None
    """[]uuid, versions 4+, nullable 4+, tag 1"""


class RegisterControllerRecord(Message):
    """Kafka's RegisterControllerRecord (metadata record), type 27, versions 0, flexible 0+."""

    class ControllerEndpoint(Structure):
        """Structure ControllerEndpoint, versions 0+."""

        name: str = ""
        """string, versions 0+, map key"""
        host: str = ""
        """string, versions 0+"""
        port: int = 0
        """uint16, versions 0+"""
        security_protocol: int = 0
        """int16, versions 0+"""

    class ControllerFeature(Structure):
        """Structure ControllerFeature, versions 0+."""

        name: str = ""
        """string, versions 0+, map key"""
        min_supported_version: int = 0
        """int16, versions 0+"""
        max_supported_version: int = 0
        """int16, versions 0+"""

    NAME = "RegisterControllerRecord"
    API_KEY = 27
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    controller_id: int = 0
    """int32, versions 0+"""
    incarnation_id: bytes = ZERO_UUID
    """uuid, versions 0+; is new at each start of the process"""
    zk_migration_ready: bool = False
    """bool, versions 0+"""
    end_points: list[RegisterControllerRecord.ControllerEndpoint] = NEW_LIST
    """[]ControllerEndpoint, versions 0+"""
    features: list[RegisterControllerRecord.ControllerFeature] = NEW_LIST
    """[]ControllerFeature, versions 0+"""


class RemoveAccessControlEntryRecord(Message):
    """Kafka's RemoveAccessControlEntryRecord (metadata record), type 19, versions 0, flexible 0+."""

    NAME = "RemoveAccessControlEntryRecord"
    API_KEY = 19
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    id: bytes = ZERO_UUID
    """uuid, versions 0+"""


class RemoveDelegationTokenRecord(Message):
    """Kafka's RemoveDelegationTokenRecord (metadata record), type 26, versions 0, flexible 0+."""

    NAME = "RemoveDelegationTokenRecord"
    API_KEY = 26
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    token_id: str = ""
    """string, versions 0+"""


class RemoveTopicRecord(Message):
    """Kafka's RemoveTopicRecord (metadata record), type 9, versions 0, flexible 0+."""

    NAME = "RemoveTopicRecord"
    API_KEY = 9
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    topic_id: bytes = ZERO_UUID
    """uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)"""


class RemoveUserScramCredentialRecord(Message):
    """Kafka's RemoveUserScramCredentialRecord (metadata record), type 22, versions 0, flexible 0+."""

    NAME = "RemoveUserScramCredentialRecord"
    API_KEY = 22
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    name: str = ""
    """string, versions 0+"""
    mechanism: int = 0
    """int8, versions 0+"""


class TopicRecord(Message):
    """Kafka's TopicRecord (metadata record), type 2, versions 0, flexible 0+."""

    NAME = "TopicRecord"
    API_KEY = 2
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    name: str = ""
    """string, versions 0+"""
    topic_id: bytes = ZERO_UUID
    """uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)"""


class UnfenceBrokerRecord(Message):
    """Kafka's UnfenceBrokerRecord (metadata record), type 8, versions 0, flexible 0+."""

    NAME = "UnfenceBrokerRecord"
    API_KEY = 8
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    id: int = 0
    """int32, versions 0+"""
    epoch: int = 0
    """int64, versions 0+"""


class UnregisterBrokerRecord(Message):
    """Kafka's UnregisterBrokerRecord (metadata record), type 1, versions 0, flexible 0+."""

    NAME = "UnregisterBrokerRecord"
    API_KEY = 1
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    broker_id: int = 0
    """int32, versions 0+"""
    broker_epoch: int = 0
    """int64, versions 0+; the epoch of the broker's registration"""


class UnregisterControllerRecord(Message):
    """Kafka's UnregisterControllerRecord (metadata record), type 29, versions 0, flexible 0+."""

    NAME = "UnregisterControllerRecord"
    API_KEY = 29
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    controller_id: int = 0
    """int32, versions 0+"""


class UserScramCredentialRecord(Message):
    """Kafka's UserScramCredentialRecord (metadata record), type 11, versions 0, flexible 0+."""

    NAME = "UserScramCredentialRecord"
    API_KEY = 11
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    name: str = ""
    """string, versions 0+"""
    mechanism: int = 0
    """int8, versions 0+"""
    salt: bytes = b""
    """bytes, versions 0+"""
    stored_key: bytes = b""
    """bytes, versions 0+"""
    server_key: bytes = b""
    """bytes, versions 0+"""
    iterations: int = 0
    """int32, versions 0+"""


class ZkMigrationStateRecord(Message):
    """Kafka's ZkMigrationStateRecord (metadata record), type 21, versions 0, flexible 0+."""

    NAME = "ZkMigrationStateRecord"
    API_KEY = 21
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    zk_migration_state: int = 0
    """int8, versions 0+"""
