"""Records of the metadata log, ``__cluster_metadata``.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from typing import ClassVar

from .structure import ZERO_UUID, Message, Structure


class AbortTransactionRecord(Message):
    """Kafka's AbortTransactionRecord (metadata record), type 25, versions 0, flexible 0+.

    - reason: string, versions 0+, nullable 0+, tag 0
    """

    __slots__ = ("reason",)

    NAME: ClassVar[str] = "AbortTransactionRecord"
    API_KEY: ClassVar[int] = 25
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        reason: str | None = None,
    ) -> None:
        self.reason = reason
        self.unknown_tagged_fields = None


class AccessControlEntryRecord(Message):
    """Kafka's AccessControlEntryRecord (metadata record), type 18, versions 0, flexible 0+.

    - id: uuid, versions 0+
    - resource_type: int8, versions 0+
    - resource_name: string, versions 0+
    - pattern_type: int8, versions 0+
    - principal: string, versions 0+
    - host: string, versions 0+
    - operation: int8, versions 0+
    - permission_type: int8, versions 0+
    """

    __slots__ = (
        "id",
        "resource_type",
        "resource_name",
        "pattern_type",
        "principal",
        "host",
        "operation",
        "permission_type",
    )

    NAME: ClassVar[str] = "AccessControlEntryRecord"
    API_KEY: ClassVar[int] = 18
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        id: bytes = ZERO_UUID,
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 0,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.id = id
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type
        self.unknown_tagged_fields = None


class BeginTransactionRecord(Message):
    """Kafka's BeginTransactionRecord (metadata record), type 23, versions 0, flexible 0+.

    - name: string, versions 0+, nullable 0+, tag 0
    """

    __slots__ = ("name",)

    NAME: ClassVar[str] = "BeginTransactionRecord"
    API_KEY: ClassVar[int] = 23
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        name: str | None = None,
    ) -> None:
        self.name = name
        self.unknown_tagged_fields = None


class BrokerRegistrationChangeRecord(Message):
    """Kafka's BrokerRegistrationChangeRecord (metadata record), type 17, versions 0-3, flexible 0+.

    - broker_id: int32, versions 0+
    - broker_epoch: int64, versions 0+; the epoch of the broker's registration
    - fenced: int8, versions 0+, tag 0
    - in_controlled_shutdown: int8, versions 1+, tag 1
    - log_dirs: []uuid, versions 2+, tag 2
    - cordoned_log_dirs: []uuid, versions 3+, nullable 3+, tag 3
    """

    __slots__ = (
        "broker_id",
        "broker_epoch",
        "fenced",
        "in_controlled_shutdown",
        "log_dirs",
        "cordoned_log_dirs",
    )

    NAME: ClassVar[str] = "BrokerRegistrationChangeRecord"
    API_KEY: ClassVar[int] = 17
    VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = 0,
        fenced: int = 0,
        in_controlled_shutdown: int = 0,
        log_dirs: list[bytes] | None = None,
        cordoned_log_dirs: list[bytes] | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.fenced = fenced
        self.in_controlled_shutdown = in_controlled_shutdown
        self.log_dirs = [] if log_dirs is None else log_dirs
        self.cordoned_log_dirs = cordoned_log_dirs
        self.unknown_tagged_fields = None


class ClearElrRecord(Message):
    """Kafka's ClearElrRecord (metadata record), type 28, versions 0, flexible 0+.

    - topic_name: string, versions 0+
    """

    __slots__ = ("topic_name",)

    NAME: ClassVar[str] = "ClearElrRecord"
    API_KEY: ClassVar[int] = 28
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        topic_name: str = "",
    ) -> None:
        self.topic_name = topic_name
        self.unknown_tagged_fields = None


class ClientQuotaRecord(Message):
    """Kafka's ClientQuotaRecord (metadata record), type 14, versions 0, flexible 0+.

    - entity: []EntityData, versions 0+
    - key: string, versions 0+
    - value: float64, versions 0+
    - remove: bool, versions 0+
    """

    class EntityData(Structure):
        """Structure EntityData, versions 0+.

        - entity_type: string, versions 0+
        - entity_name: string, versions 0+, nullable 0+
        """

        __slots__ = (
            "entity_type",
            "entity_name",
        )

        def __init__(
            self,
            entity_type: str = "",
            entity_name: str | None = "",
        ) -> None:
            self.entity_type = entity_type
            self.entity_name = entity_name
            self.unknown_tagged_fields = None

    __slots__ = (
        "entity",
        "key",
        "value",
        "remove",
    )

    NAME: ClassVar[str] = "ClientQuotaRecord"
    API_KEY: ClassVar[int] = 14
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        entity: list[ClientQuotaRecord.EntityData] | None = None,
        key: str = "",
        value: float = 0.0,
        remove: bool = False,
    ) -> None:
        self.entity = [] if entity is None else entity
        self.key = key
        self.value = value
        self.remove = remove
        self.unknown_tagged_fields = None


class ConfigRecord(Message):
    """Kafka's ConfigRecord (metadata record), type 4, versions 0, flexible 0+.

    - resource_type: int8, versions 0+
    - resource_name: string, versions 0+
    - name: string, versions 0+
    - value: string, versions 0+, nullable 0+
    """

    __slots__ = (
        "resource_type",
        "resource_name",
        "name",
        "value",
    )

    NAME: ClassVar[str] = "ConfigRecord"
    API_KEY: ClassVar[int] = 4
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        name: str = "",
        value: str | None = "",
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.name = name
        self.value = value
        self.unknown_tagged_fields = None


class DelegationTokenRecord(Message):
    """Kafka's DelegationTokenRecord (metadata record), type 10, versions 0, flexible 0+.

    - owner: string, versions 0+
    - requester: string, versions 0+
    - renewers: []string, versions 0+
    - issue_timestamp: int64, versions 0+
    - max_timestamp: int64, versions 0+
    - expiration_timestamp: int64, versions 0+
    - token_id: string, versions 0+
    """

    __slots__ = (
        "owner",
        "requester",
        "renewers",
        "issue_timestamp",
        "max_timestamp",
        "expiration_timestamp",
        "token_id",
    )

    NAME: ClassVar[str] = "DelegationTokenRecord"
    API_KEY: ClassVar[int] = 10
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        owner: str = "",
        requester: str = "",
        renewers: list[str] | None = None,
        issue_timestamp: int = 0,
        max_timestamp: int = 0,
        expiration_timestamp: int = 0,
        token_id: str = "",
    ) -> None:
        self.owner = owner
        self.requester = requester
        self.renewers = [] if renewers is None else renewers
        self.issue_timestamp = issue_timestamp
        self.max_timestamp = max_timestamp
        self.expiration_timestamp = expiration_timestamp
        self.token_id = token_id
        self.unknown_tagged_fields = None


class EndTransactionRecord(Message):
    """Kafka's EndTransactionRecord (metadata record), type 24, versions 0, flexible 0+."""

    __slots__ = ()

    NAME: ClassVar[str] = "EndTransactionRecord"
    API_KEY: ClassVar[int] = 24
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0


class FeatureLevelRecord(Message):
    """Kafka's FeatureLevelRecord (metadata record), type 12, versions 0, flexible 0+.

    - name: string, versions 0+
    - feature_level: int16, versions 0+
    """

    __slots__ = (
        "name",
        "feature_level",
    )

    NAME: ClassVar[str] = "FeatureLevelRecord"
    API_KEY: ClassVar[int] = 12
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        name: str = "",
        feature_level: int = 0,
    ) -> None:
        self.name = name
        self.feature_level = feature_level
        self.unknown_tagged_fields = None


class FenceBrokerRecord(Message):
    """Kafka's FenceBrokerRecord (metadata record), type 7, versions 0, flexible 0+.

    - id: int32, versions 0+
    - epoch: int64, versions 0+
    """

    __slots__ = (
        "id",
        "epoch",
    )

    NAME: ClassVar[str] = "FenceBrokerRecord"
    API_KEY: ClassVar[int] = 7
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        id: int = 0,
        epoch: int = 0,
    ) -> None:
        self.id = id
        self.epoch = epoch
        self.unknown_tagged_fields = None


class NoOpRecord(Message):
    """Kafka's NoOpRecord (metadata record), type 20, versions 0, flexible 0+."""

    __slots__ = ()

    NAME: ClassVar[str] = "NoOpRecord"
    API_KEY: ClassVar[int] = 20
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0


class PartitionChangeRecord(Message):
    """Kafka's PartitionChangeRecord (metadata record), type 5, versions 0-2, flexible 0+.

    - partition_id: int32, versions 0+
    - topic_id: uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)
    - isr: []int32, versions 0+, nullable 0+, tag 0
    - leader: int32, versions 0+, tag 1
    - replicas: []int32, versions 0+, nullable 0+, tag 2
    - removing_replicas: []int32, versions 0+, nullable 0+, tag 3
    - adding_replicas: []int32, versions 0+, nullable 0+, tag 4
    - leader_recovery_state: int8, versions 0+, tag 5
    - directories: []uuid, versions 1+, nullable 1+, tag 8
    - eligible_leader_replicas: []int32, versions 2+, nullable 2+, tag 6
    - last_known_elr: []int32, versions 2+, nullable 2+, tag 7
    """

    __slots__ = (
        "partition_id",
        "topic_id",
        "isr",
        "leader",
        "replicas",
        "removing_replicas",
        "adding_replicas",
        "leader_recovery_state",
        "directories",
        "eligible_leader_replicas",
        "last_known_elr",
    )

    NAME: ClassVar[str] = "PartitionChangeRecord"
    API_KEY: ClassVar[int] = 5
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        partition_id: int = -1,
        topic_id: bytes = ZERO_UUID,
        isr: list[int] | None = None,
        leader: int = -2,
        replicas: list[int] | None = None,
        removing_replicas: list[int] | None = None,
        adding_replicas: list[int] | None = None,
        leader_recovery_state: int = -1,
        directories: list[bytes] | None = None,
        eligible_leader_replicas: list[int] | None = None,
        last_known_elr: list[int] | None = None,
    ) -> None:
        self.partition_id = partition_id
        self.topic_id = topic_id
        self.isr = isr
        self.leader = leader
        self.replicas = replicas
        self.removing_replicas = removing_replicas
        self.adding_replicas = adding_replicas
        self.leader_recovery_state = leader_recovery_state
        self.directories = directories
        self.eligible_leader_replicas = eligible_leader_replicas
        self.last_known_elr = last_known_elr
        self.unknown_tagged_fields = None


class PartitionRecord(Message):
    """Kafka's PartitionRecord (metadata record), type 3, versions 0-2, flexible 0+.

    - partition_id: int32, versions 0+
    - topic_id: uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)
    - replicas: []int32, versions 0+
    - isr: []int32, versions 0+
    - removing_replicas: []int32, versions 0+
    - adding_replicas: []int32, versions 0+
    - leader: int32, versions 0+
    - leader_recovery_state: int8, versions 0+, tag 0
    - leader_epoch: int32, versions 0+; counts the changes of the leader
    - partition_epoch: int32, versions 0+
    - directories: []uuid, versions 1+
    - eligible_leader_replicas: []int32, versions 2+, nullable 2+, tag 1
    - last_known_elr: []int32, versions 2+, nullable 2+, tag 2
    """

    __slots__ = (
        "partition_id",
        "topic_id",
        "replicas",
        "isr",
        "removing_replicas",
        "adding_replicas",
        "leader",
        "leader_recovery_state",
        "leader_epoch",
        "partition_epoch",
        "directories",
        "eligible_leader_replicas",
        "last_known_elr",
    )

    NAME: ClassVar[str] = "PartitionRecord"
    API_KEY: ClassVar[int] = 3
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        partition_id: int = -1,
        topic_id: bytes = ZERO_UUID,
        replicas: list[int] | None = None,
        isr: list[int] | None = None,
        removing_replicas: list[int] | None = None,
        adding_replicas: list[int] | None = None,
        leader: int = -1,
        leader_recovery_state: int = 0,
        leader_epoch: int = -1,
        partition_epoch: int = -1,
        directories: list[bytes] | None = None,
        eligible_leader_replicas: list[int] | None = None,
        last_known_elr: list[int] | None = None,
    ) -> None:
        self.partition_id = partition_id
        self.topic_id = topic_id
        self.replicas = [] if replicas is None else replicas
        self.isr = [] if isr is None else isr
        self.removing_replicas = [] if removing_replicas is None else removing_replicas
        self.adding_replicas = [] if adding_replicas is None else adding_replicas
        self.leader = leader
        self.leader_recovery_state = leader_recovery_state
        self.leader_epoch = leader_epoch
        self.partition_epoch = partition_epoch
        self.directories = [] if directories is None else directories
        self.eligible_leader_replicas = eligible_leader_replicas
        self.last_known_elr = last_known_elr
        self.unknown_tagged_fields = None


class ProducerIdsRecord(Message):
    """Kafka's ProducerIdsRecord (metadata record), type 15, versions 0, flexible 0+.

    - broker_id: int32, versions 0+
    - broker_epoch: int64, versions 0+; the epoch of the broker's registration
    - next_producer_id: int64, versions 0+
    """

    __slots__ = (
        "broker_id",
        "broker_epoch",
        "next_producer_id",
    )

    NAME: ClassVar[str] = "ProducerIdsRecord"
    API_KEY: ClassVar[int] = 15
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        next_producer_id: int = 0,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.next_producer_id = next_producer_id
        self.unknown_tagged_fields = None


class RegisterBrokerRecord(Message):
    """Kafka's RegisterBrokerRecord (metadata record), type 0, versions 0-4, flexible 0+.

    - broker_id: int32, versions 0+
    - is_migrating_zk_broker: bool, versions 2+
    - incarnation_id: uuid, versions 0+; is new at each start of the process
    - broker_epoch: int64, versions 0+; the epoch of the broker's registration
    - end_points: []BrokerEndpoint, versions 0+
    - features: []BrokerFeature, versions 0+
    - rack: string, versions 0+, nullable 0+
    - fenced: bool, versions 0+
    - in_controlled_shutdown: bool, versions 1+
    - log_dirs: []uuid, versions 3+, tag 0
    - cordoned_log_dirs: []uuid, versions 4+, nullable 4+, tag 1
    """

    class BrokerEndpoint(Structure):
        """Structure BrokerEndpoint, versions 0+.

        - name: string, versions 0+, map key
        - host: string, versions 0+
        - port: uint16, versions 0+
        - security_protocol: int16, versions 0+
        """

        __slots__ = (
            "name",
            "host",
            "port",
            "security_protocol",
        )

        def __init__(
            self,
            name: str = "",
            host: str = "",
            port: int = 0,
            security_protocol: int = 0,
        ) -> None:
            self.name = name
            self.host = host
            self.port = port
            self.security_protocol = security_protocol
            self.unknown_tagged_fields = None

    class BrokerFeature(Structure):
        """Structure BrokerFeature, versions 0+.

        - name: string, versions 0+, map key
        - min_supported_version: int16, versions 0+
        - max_supported_version: int16, versions 0+
        """

        __slots__ = (
            "name",
            "min_supported_version",
            "max_supported_version",
        )

        def __init__(
            self,
            name: str = "",
            min_supported_version: int = 0,
            max_supported_version: int = 0,
        ) -> None:
            self.name = name
            self.min_supported_version = min_supported_version
            self.max_supported_version = max_supported_version
            self.unknown_tagged_fields = None

    __slots__ = (
        "broker_id",
        "is_migrating_zk_broker",
        "incarnation_id",
        "broker_epoch",
        "end_points",
        "features",
        "rack",
        "fenced",
        "in_controlled_shutdown",
        "log_dirs",
        "cordoned_log_dirs",
    )

    NAME: ClassVar[str] = "RegisterBrokerRecord"
    API_KEY: ClassVar[int] = 0
    VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        broker_id: int = 0,
        is_migrating_zk_broker: bool = False,
        incarnation_id: bytes = ZERO_UUID,
        broker_epoch: int = 0,
        end_points: list[RegisterBrokerRecord.BrokerEndpoint] | None = None,
        features: list[RegisterBrokerRecord.BrokerFeature] | None = None,
        rack: str | None = "",
        fenced: bool = True,
        in_controlled_shutdown: bool = False,
        log_dirs: list[bytes] | None = None,
        cordoned_log_dirs: list[bytes] | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.is_migrating_zk_broker = is_migrating_zk_broker
        self.incarnation_id = incarnation_id
        self.broker_epoch = broker_epoch
        self.end_points = [] if end_points is None else end_points
        self.features = [] if features is None else features
        self.rack = rack
        self.fenced = fenced
        self.in_controlled_shutdown = in_controlled_shutdown
        self.log_dirs = [] if log_dirs is None else log_dirs
        self.cordoned_log_dirs = cordoned_log_dirs
        self.unknown_tagged_fields = None


class RegisterControllerRecord(Message):
    """Kafka's RegisterControllerRecord (metadata record), type 27, versions 0, flexible 0+.

    - controller_id: int32, versions 0+
    - incarnation_id: uuid, versions 0+; is new at each start of the process
    - zk_migration_ready: bool, versions 0+
    - end_points: []ControllerEndpoint, versions 0+
    - features: []ControllerFeature, versions 0+
    """

    class ControllerEndpoint(Structure):
        """Structure ControllerEndpoint, versions 0+.

        - name: string, versions 0+, map key
        - host: string, versions 0+
        - port: uint16, versions 0+
        - security_protocol: int16, versions 0+
        """

        __slots__ = (
            "name",
            "host",
            "port",
            "security_protocol",
        )

        def __init__(
            self,
            name: str = "",
            host: str = "",
            port: int = 0,
            security_protocol: int = 0,
        ) -> None:
            self.name = name
            self.host = host
            self.port = port
            self.security_protocol = security_protocol
            self.unknown_tagged_fields = None

    class ControllerFeature(Structure):
        """Structure ControllerFeature, versions 0+.

        - name: string, versions 0+, map key
        - min_supported_version: int16, versions 0+
        - max_supported_version: int16, versions 0+
        """

        __slots__ = (
            "name",
            "min_supported_version",
            "max_supported_version",
        )

        def __init__(
            self,
            name: str = "",
            min_supported_version: int = 0,
            max_supported_version: int = 0,
        ) -> None:
            self.name = name
            self.min_supported_version = min_supported_version
            self.max_supported_version = max_supported_version
            self.unknown_tagged_fields = None

    __slots__ = (
        "controller_id",
        "incarnation_id",
        "zk_migration_ready",
        "end_points",
        "features",
    )

    NAME: ClassVar[str] = "RegisterControllerRecord"
    API_KEY: ClassVar[int] = 27
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        controller_id: int = 0,
        incarnation_id: bytes = ZERO_UUID,
        zk_migration_ready: bool = False,
        end_points: list[RegisterControllerRecord.ControllerEndpoint] | None = None,
        features: list[RegisterControllerRecord.ControllerFeature] | None = None,
    ) -> None:
        self.controller_id = controller_id
        self.incarnation_id = incarnation_id
        self.zk_migration_ready = zk_migration_ready
        self.end_points = [] if end_points is None else end_points
        self.features = [] if features is None else features
        self.unknown_tagged_fields = None


class RemoveAccessControlEntryRecord(Message):
    """Kafka's RemoveAccessControlEntryRecord (metadata record), type 19, versions 0, flexible 0+.

    - id: uuid, versions 0+
    """

    __slots__ = ("id",)

    NAME: ClassVar[str] = "RemoveAccessControlEntryRecord"
    API_KEY: ClassVar[int] = 19
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        id: bytes = ZERO_UUID,
    ) -> None:
        self.id = id
        self.unknown_tagged_fields = None


class RemoveDelegationTokenRecord(Message):
    """Kafka's RemoveDelegationTokenRecord (metadata record), type 26, versions 0, flexible 0+.

    - token_id: string, versions 0+
    """

    __slots__ = ("token_id",)

    NAME: ClassVar[str] = "RemoveDelegationTokenRecord"
    API_KEY: ClassVar[int] = 26
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        token_id: str = "",
    ) -> None:
        self.token_id = token_id
        self.unknown_tagged_fields = None


class RemoveTopicRecord(Message):
    """Kafka's RemoveTopicRecord (metadata record), type 9, versions 0, flexible 0+.

    - topic_id: uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)
    """

    __slots__ = ("topic_id",)

    NAME: ClassVar[str] = "RemoveTopicRecord"
    API_KEY: ClassVar[int] = 9
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        topic_id: bytes = ZERO_UUID,
    ) -> None:
        self.topic_id = topic_id
        self.unknown_tagged_fields = None


class RemoveUserScramCredentialRecord(Message):
    """Kafka's RemoveUserScramCredentialRecord (metadata record), type 22, versions 0, flexible 0+.

    - name: string, versions 0+
    - mechanism: int8, versions 0+
    """

    __slots__ = (
        "name",
        "mechanism",
    )

    NAME: ClassVar[str] = "RemoveUserScramCredentialRecord"
    API_KEY: ClassVar[int] = 22
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        name: str = "",
        mechanism: int = 0,
    ) -> None:
        self.name = name
        self.mechanism = mechanism
        self.unknown_tagged_fields = None


class TopicRecord(Message):
    """Kafka's TopicRecord (metadata record), type 2, versions 0, flexible 0+.

    - name: string, versions 0+
    - topic_id: uuid, versions 0+; the id of the topic, which a new topic of the same name does not share (KIP-516)
    """

    __slots__ = (
        "name",
        "topic_id",
    )

    NAME: ClassVar[str] = "TopicRecord"
    API_KEY: ClassVar[int] = 2
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.unknown_tagged_fields = None


class UnfenceBrokerRecord(Message):
    """Kafka's UnfenceBrokerRecord (metadata record), type 8, versions 0, flexible 0+.

    - id: int32, versions 0+
    - epoch: int64, versions 0+
    """

    __slots__ = (
        "id",
        "epoch",
    )

    NAME: ClassVar[str] = "UnfenceBrokerRecord"
    API_KEY: ClassVar[int] = 8
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        id: int = 0,
        epoch: int = 0,
    ) -> None:
        self.id = id
        self.epoch = epoch
        self.unknown_tagged_fields = None


class UnregisterBrokerRecord(Message):
    """Kafka's UnregisterBrokerRecord (metadata record), type 1, versions 0, flexible 0+.

    - broker_id: int32, versions 0+
    - broker_epoch: int64, versions 0+; the epoch of the broker's registration
    """

    __slots__ = (
        "broker_id",
        "broker_epoch",
    )

    NAME: ClassVar[str] = "UnregisterBrokerRecord"
    API_KEY: ClassVar[int] = 1
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = 0,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.unknown_tagged_fields = None


class UserScramCredentialRecord(Message):
    """Kafka's UserScramCredentialRecord (metadata record), type 11, versions 0, flexible 0+.

    - name: string, versions 0+
    - mechanism: int8, versions 0+
    - salt: bytes, versions 0+
    - stored_key: bytes, versions 0+
    - server_key: bytes, versions 0+
    - iterations: int32, versions 0+
    """

    __slots__ = (
        "name",
        "mechanism",
        "salt",
        "stored_key",
        "server_key",
        "iterations",
    )

    NAME: ClassVar[str] = "UserScramCredentialRecord"
    API_KEY: ClassVar[int] = 11
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        name: str = "",
        mechanism: int = 0,
        salt: bytes = b"",
        stored_key: bytes = b"",
        server_key: bytes = b"",
        iterations: int = 0,
    ) -> None:
        self.name = name
        self.mechanism = mechanism
        self.salt = salt
        self.stored_key = stored_key
        self.server_key = server_key
        self.iterations = iterations
        self.unknown_tagged_fields = None


class ZkMigrationStateRecord(Message):
    """Kafka's ZkMigrationStateRecord (metadata record), type 21, versions 0, flexible 0+.

    - zk_migration_state: int8, versions 0+
    """

    __slots__ = ("zk_migration_state",)

    NAME: ClassVar[str] = "ZkMigrationStateRecord"
    API_KEY: ClassVar[int] = 21
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        zk_migration_state: int = 0,
    ) -> None:
        self.zk_migration_state = zk_migration_state
        self.unknown_tagged_fields = None
