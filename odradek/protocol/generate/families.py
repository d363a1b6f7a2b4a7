"""Assigns each message to a family: the module of ``protocol/messages`` that has its class.

Owns: the families. Invariant: every message of the table is in exactly one (checked when generating).
"""

from typing import Final

from ..apis.table import MessageSpec

APIS: Final[dict[str, tuple[str, str]]] = {
    "produce": ("Producing records", "Produce"),
    "fetch": ("Fetching records", "Fetch"),
    "offsets": ("Offsets of a log, by time and by epoch", "ListOffsets OffsetForLeaderEpoch DeleteRecords"),
    "metadata": (
        "What a client asks first: versions, brokers, topics",
        "ApiVersions Metadata DescribeTopicPartitions DescribeCluster",
    ),
    "topics": (
        "Creating, deleting and moving topics and partitions",
        "CreateTopics DeleteTopics CreatePartitions ElectLeaders AlterPartitionReassignments "
        "ListPartitionReassignments",
    ),
    "configs": (
        "Configuration of topics, brokers, groups",
        "DescribeConfigs AlterConfigs IncrementalAlterConfigs ListConfigResources",
    ),
    "groups": (
        "Groups under the classic protocol, and committed offsets",
        "FindCoordinator JoinGroup SyncGroup Heartbeat LeaveGroup OffsetCommit OffsetFetch OffsetDelete DescribeGroups "
        "ListGroups DeleteGroups",
    ),
    "consumer_groups": (
        "Consumer groups under the protocol of KIP-848",
        "ConsumerGroupHeartbeat ConsumerGroupDescribe",
    ),
    "share_groups": (
        "Share groups (KIP-932)",
        "ShareGroupHeartbeat ShareGroupDescribe ShareFetch ShareAcknowledge InitializeShareGroupState "
        "ReadShareGroupState WriteShareGroupState DeleteShareGroupState ReadShareGroupStateSummary "
        "DescribeShareGroupOffsets AlterShareGroupOffsets DeleteShareGroupOffsets",
    ),
    "streams_groups": (
        "Streams groups (KIP-1071)",
        "StreamsGroupHeartbeat StreamsGroupDescribe StreamsGroupTopologyDescriptionUpdate",
    ),
    "transactions": (
        "Transactions and the producers in them",
        "InitProducerId AddPartitionsToTxn AddOffsetsToTxn EndTxn WriteTxnMarkers TxnOffsetCommit DescribeProducers "
        "DescribeTransactions ListTransactions",
    ),
    "security": (
        "Authentication, access control, delegation tokens",
        "SaslHandshake SaslAuthenticate DescribeAcls CreateAcls DeleteAcls CreateDelegationToken RenewDelegationToken "
        "ExpireDelegationToken DescribeDelegationToken DescribeUserScramCredentials AlterUserScramCredentials",
    ),
    "quotas": ("Client quotas", "DescribeClientQuotas AlterClientQuotas"),
    "log_dirs": ("Log directories of a broker", "AlterReplicaLogDirs DescribeLogDirs"),
    "telemetry": ("Metrics pushed by clients (KIP-714)", "GetTelemetrySubscriptions PushTelemetry"),
    "quorum": (
        "Between brokers and controllers: the Raft quorum, registration, replicas; and APIs of clusters with ZooKeeper",
        "Vote BeginQuorumEpoch EndQuorumEpoch DescribeQuorum FetchSnapshot AddRaftVoter RemoveRaftVoter "
        "UpdateRaftVoter AlterPartition UpdateFeatures Envelope BrokerRegistration BrokerHeartbeat UnregisterBroker "
        "ControllerRegistration UnregisterController AllocateProducerIds AssignReplicasToDirs "
        "LeaderAndIsr StopReplica UpdateMetadata ControlledShutdown",
    ),
}
"""Family -> (its subject for the module docstring, the names of its APIs, each with a request and a response)."""

RECORDS: Final[dict[str, str]] = {
    "headers": "The headers before each request and response",
    "metadata_records": "Records of the metadata log, ``__cluster_metadata``",
    "group_records": "Keys and values of ``__consumer_offsets``, and what classic members put into their metadata",
    "transaction_records": (
        "Keys and values of ``__transaction_state``, the marker that ends a transaction, entries of transaction indexes"
    ),
    "share_records": "Keys and values of ``__share_group_state``",
    "remote_log_records": "Records of ``__remote_log_metadata``",
    "snapshots": "Snapshots and control records of the quorum, producer snapshots of a log",
}
"""Family of messages that are not requests or responses -> its subject for the module docstring."""


def family_of(spec: MessageSpec) -> str:
    """The family (module name) of a message."""
    if spec.type in ("request", "response"):
        api = spec.name.removesuffix("Request").removesuffix("Response")
        return next(family for family, (_, apis) in APIS.items() if api in apis.split())
    if spec.type == "header":
        return "headers"
    if spec.name.startswith("Remote"):
        return "remote_log_records"
    if spec.type == "metadata":
        return "metadata_records"
    if spec.type.startswith("coordinator"):
        return _coordinator_family(spec.name)
    return {
        "AbortedTxn": "transaction_records",
        "ConsumerProtocolAssignment": "group_records",
        "ConsumerProtocolSubscription": "group_records",
        "DefaultPrincipalData": "security",
        "EndTxnMarker": "transaction_records",
    }.get(spec.name, "snapshots")


def _coordinator_family(name: str) -> str:
    if name.startswith("TransactionLog"):
        return "transaction_records"
    return "share_records" if name.startswith(("ShareSnapshot", "ShareUpdate")) else "group_records"


def families() -> dict[str, str]:
    """Family -> its subject for the module docstring, for all families."""
    return {**{family: about for family, (about, _) in APIS.items()}, **RECORDS}
