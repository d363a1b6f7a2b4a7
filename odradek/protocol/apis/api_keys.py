"""Kafka's API keys, and a description of each API.

Owns: numbers and names (Kafka's ``ApiKeys``). Never does: importing a module of message classes before it is needed.
"""

from enum import IntEnum
from functools import cache
from typing import Any, NamedTuple

from ..common.lazy_imports import lazy_imports
from ..messages.apis import APIS

with lazy_imports:
    from .. import messages


class ApiKey(IntEnum):
    """The APIs of Kafka 4.4.0 by Kafka's names."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    LEADER_AND_ISR = 4
    STOP_REPLICA = 5
    UPDATE_METADATA = 6
    CONTROLLED_SHUTDOWN = 7
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    CREATE_DELEGATION_TOKEN = 38
    RENEW_DELEGATION_TOKEN = 39
    EXPIRE_DELEGATION_TOKEN = 40
    DESCRIBE_DELEGATION_TOKEN = 41
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    DESCRIBE_CLIENT_QUOTAS = 48
    ALTER_CLIENT_QUOTAS = 49
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    VOTE = 52
    BEGIN_QUORUM_EPOCH = 53
    END_QUORUM_EPOCH = 54
    DESCRIBE_QUORUM = 55
    ALTER_PARTITION = 56
    UPDATE_FEATURES = 57
    ENVELOPE = 58
    FETCH_SNAPSHOT = 59
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    BROKER_REGISTRATION = 62
    BROKER_HEARTBEAT = 63
    UNREGISTER_BROKER = 64
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    ALLOCATE_PRODUCER_IDS = 67
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_DESCRIBE = 69
    CONTROLLER_REGISTRATION = 70
    GET_TELEMETRY_SUBSCRIPTIONS = 71
    PUSH_TELEMETRY = 72
    ASSIGN_REPLICAS_TO_DIRS = 73
    LIST_CONFIG_RESOURCES = 74
    DESCRIBE_TOPIC_PARTITIONS = 75
    SHARE_GROUP_HEARTBEAT = 76
    SHARE_GROUP_DESCRIBE = 77
    SHARE_FETCH = 78
    SHARE_ACKNOWLEDGE = 79
    ADD_RAFT_VOTER = 80
    REMOVE_RAFT_VOTER = 81
    UPDATE_RAFT_VOTER = 82
    INITIALIZE_SHARE_GROUP_STATE = 83
    READ_SHARE_GROUP_STATE = 84
    WRITE_SHARE_GROUP_STATE = 85
    DELETE_SHARE_GROUP_STATE = 86
    READ_SHARE_GROUP_STATE_SUMMARY = 87
    STREAMS_GROUP_HEARTBEAT = 88
    STREAMS_GROUP_DESCRIBE = 89
    DESCRIBE_SHARE_GROUP_OFFSETS = 90
    ALTER_SHARE_GROUP_OFFSETS = 91
    DELETE_SHARE_GROUP_OFFSETS = 92
    STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE = 93
    UNREGISTER_CONTROLLER = 94


class ApiDescription(NamedTuple):
    """The description of one API, from the message table."""

    name: str
    """Kafka's name of the API, such as ``OffsetCommit``."""
    key: ApiKey
    versions: tuple[int, int]
    """Lowest and highest version in the table, including versions that only Kafka 3.9 and older served; ``(0, -1)`` for
    APIs without any version left (LeaderAndIsr, StopReplica, UpdateMetadata, ControlledShutdown)."""
    flexible_since: int
    """The first flexible version, 32767 for never."""
    listeners: tuple[str, ...]
    """The kinds of listeners on which Kafka serves the API: ``broker``, ``controller``."""
    latest_version_unstable: bool
    """Whether the highest version is announced only with ``unstable.api.versions.enable``."""

    @property
    def stable_versions(self) -> tuple[int, int]:
        """:attr:`versions` without an unstable latest version: the versions that Kafka announces by default."""
        lowest, highest = self.versions
        return lowest, highest - self.latest_version_unstable

    def request_class(self) -> type[Any]:
        """The class of the API's requests; imports its module on first use."""
        return messages.message_class(f"{self.name}Request")

    def response_class(self) -> type[Any]:
        """The class of the API's responses; imports its module on first use."""
        return messages.message_class(f"{self.name}Response")


@cache
def api(key: int) -> ApiDescription:
    """The API with this key. Raises KeyError for a key that Kafka does not have."""
    name, versions, flexible_since, listeners, latest_version_unstable = APIS[key]
    return ApiDescription(name, ApiKey(key), versions, flexible_since, listeners, latest_version_unstable)
