"""The decisions of a real Kafka's authorizer in a run: API, resource type, operation, and allowed or denied.

They are read from Kafka's audit log (``StandardAuthorizerData.buildAuditMessage``). A check that both brokers omit
therefore does not count as made.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

AUDIT_OPTION = "-Dorg.slf4j.simpleLogger.log.kafka.authorizer.logger=trace"
"""Makes Kafka's JVM log every authorization check, including those that only filter a list."""
_LINE = re.compile(
    r"Principal = User:(\w+) is (Allowed|Denied) operation = (\w+) from host = \S+ on resource = (\w+):LITERAL:"
    r".* for request = (\w+) with resourceRefCount"
)


class Question(NamedTuple):
    """One kind of authorization check: an API checks an operation on a resource type."""

    api: str
    kind: str
    operation: str


Coverage = dict[Question, set[str]]


def coverage(lines: Iterable[str], users: Iterable[str]) -> Coverage:
    """The decisions about these users in the lines of an audit log: ``Allowed``, ``Denied`` or both for each check."""
    of_users, found = set(users), defaultdict(set)
    for line in lines:
        match = _LINE.search(line)
        if match is not None and match[1] in of_users:
            found[Question(match[5], match[4], match[3])].add(match[2])
    return dict(found)


def table(found: Coverage) -> dict[str, dict[str, str]]:
    """API -> resource type -> operations. An operation that was only allowed or only denied has a note."""
    lines: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for (api, kind, operation), decisions in sorted(found.items()):
        missing = "" if len(decisions) == 2 else f"(only {next(iter(decisions)).lower()})"
        lines[api][kind].append(operation + missing)
    return {api: {kind: " ".join(asked) for kind, asked in kinds.items()} for api, kinds in lines.items()}


OF_CLUSTER = "ALTER ALTER_CONFIGS CLUSTER_ACTION CREATE DESCRIBE DESCRIBE_CONFIGS IDEMPOTENT_WRITE"
OF_TOPIC = "ALTER ALTER_CONFIGS CREATE DELETE DESCRIBE DESCRIBE_CONFIGS READ WRITE"
OF_GROUP = "ALTER_CONFIGS DELETE DESCRIBE DESCRIBE_CONFIGS READ"
"""Each constant lists the operations that a response can report as authorized for its resource type."""
EXPECTED: Mapping[str, Mapping[str, str]] = {
    "AddOffsetsToTxn": {"Group": "READ", "TransactionalId": "WRITE"},
    "AddPartitionsToTxn": {"Cluster": "CLUSTER_ACTION", "Topic": "WRITE", "TransactionalId": "WRITE"},
    "AddRaftVoter": {"Cluster": "ALTER"},
    "AlterClientQuotas": {"Cluster": "ALTER_CONFIGS"},
    "AlterConfigs": {"Cluster": "ALTER_CONFIGS", "Group": "ALTER_CONFIGS", "Topic": "ALTER_CONFIGS"},
    "AlterPartitionReassignments": {"Cluster": "ALTER"},
    "AlterReplicaLogDirs": {"Cluster": "ALTER"},
    "AlterShareGroupOffsets": {"Group": "READ", "Topic": "READ"},
    "AlterUserScramCredentials": {"Cluster": "ALTER"},
    "ConsumerGroupDescribe": {"Group": OF_GROUP, "Topic": "DESCRIBE"},
    "ConsumerGroupHeartbeat": {"Group": "READ", "Topic": "DESCRIBE"},
    "CreateAcls": {"Cluster": "ALTER"},
    "CreateDelegationToken": {"User": "CREATE_TOKENS"},
    "CreatePartitions": {"Topic": "ALTER"},
    "CreateTopics": {"Cluster": "CREATE", "Topic": "CREATE DESCRIBE_CONFIGS"},
    "DeleteAcls": {"Cluster": "ALTER"},
    "DeleteGroups": {"Group": "DELETE"},
    "DeleteRecords": {"Topic": "DELETE"},
    "DeleteShareGroupState": {"Cluster": "CLUSTER_ACTION"},
    "DeleteShareGroupOffsets": {"Group": "DELETE", "Topic": "READ"},
    "DeleteTopics": {"Cluster": "DELETE", "Topic": "DELETE DESCRIBE"},
    "DescribeAcls": {"Cluster": "DESCRIBE"},
    "DescribeClientQuotas": {"Cluster": "DESCRIBE_CONFIGS"},
    "DescribeCluster": {"Cluster": OF_CLUSTER},
    "DescribeConfigs": {"Cluster": "DESCRIBE_CONFIGS", "Group": "DESCRIBE_CONFIGS", "Topic": "DESCRIBE_CONFIGS"},
    "DescribeDelegationToken": {"DelegationToken": "DESCRIBE", "User": "DESCRIBE_TOKENS"},
    "DescribeGroups": {"Group": OF_GROUP},
    "DescribeLogDirs": {"Cluster": "DESCRIBE"},
    "DescribeProducers": {"Topic": "READ"},
    "DescribeQuorum": {"Cluster": "DESCRIBE"},
    "DescribeShareGroupOffsets": {"Group": "DESCRIBE", "Topic": "DESCRIBE"},
    "DescribeTopicPartitions": {"Topic": OF_TOPIC},
    "DescribeTransactions": {"Topic": "DESCRIBE", "TransactionalId": "DESCRIBE"},
    "DescribeUserScramCredentials": {"Cluster": "DESCRIBE"},
    "ElectLeaders": {"Cluster": "ALTER"},
    "EndTxn": {"TransactionalId": "WRITE"},
    "Fetch": {"Cluster": "CLUSTER_ACTION", "Topic": "READ"},
    "FindCoordinator": {"Cluster": "CLUSTER_ACTION", "Group": "DESCRIBE", "TransactionalId": "DESCRIBE"},
    "Heartbeat": {"Group": "READ"},
    "IncrementalAlterConfigs": {"Cluster": "ALTER_CONFIGS", "Group": "ALTER_CONFIGS", "Topic": "ALTER_CONFIGS"},
    "InitProducerId": {"Cluster": "IDEMPOTENT_WRITE", "Topic": "WRITE", "TransactionalId": "WRITE"},
    "InitializeShareGroupState": {"Cluster": "CLUSTER_ACTION"},
    "JoinGroup": {"Group": "READ"},
    "LeaveGroup": {"Group": "READ"},
    "ListConfigResources": {"Cluster": "DESCRIBE_CONFIGS"},
    "ListGroups": {"Cluster": "DESCRIBE", "Group": "DESCRIBE"},
    "ListOffsets": {"Topic": "DESCRIBE"},
    "ListPartitionReassignments": {"Cluster": "DESCRIBE"},
    "ListTransactions": {"TransactionalId": "DESCRIBE"},
    "Metadata": {
        "Cluster": OF_CLUSTER,
        "Topic": OF_TOPIC,
    },
    "OffsetCommit": {"Group": "READ", "Topic": "READ"},
    "OffsetDelete": {"Group": "DELETE", "Topic": "READ"},
    "OffsetFetch": {"Group": "DESCRIBE", "Topic": "DESCRIBE"},
    "OffsetForLeaderEpoch": {"Cluster": "CLUSTER_ACTION", "Topic": "DESCRIBE"},
    "Produce": {"Topic": "WRITE", "TransactionalId": "WRITE"},
    "ReadShareGroupState": {"Cluster": "CLUSTER_ACTION"},
    "ReadShareGroupStateSummary": {"Cluster": "CLUSTER_ACTION"},
    "RemoveRaftVoter": {"Cluster": "ALTER"},
    "ShareAcknowledge": {"Group": "READ"},
    "ShareFetch": {"Group": "READ", "Topic": "READ"},
    "ShareGroupDescribe": {"Group": OF_GROUP, "Topic": "DESCRIBE"},
    "ShareGroupHeartbeat": {"Group": "READ", "Topic": "DESCRIBE"},
    "StreamsGroupDescribe": {"Group": OF_GROUP, "Topic": "DESCRIBE"},
    "StreamsGroupHeartbeat": {"Cluster": "CREATE", "Group": "READ", "Topic": "CREATE DESCRIBE"},
    "StreamsGroupTopologyDescriptionUpdate": {"Group": "READ"},
    "SyncGroup": {"Group": "READ"},
    "TxnOffsetCommit": {"Group": "READ", "Topic": "READ", "TransactionalId": "WRITE"},
    "UnregisterBroker": {"Cluster": "ALTER"},
    "UnregisterController": {"Cluster": "ALTER"},
    "UpdateFeatures": {"Cluster": "ALTER"},
    "WriteShareGroupState": {"Cluster": "CLUSTER_ACTION"},
    "WriteTxnMarkers": {"Cluster": "ALTER CLUSTER_ACTION"},
}
"""The checks that Apache Kafka 4.4 makes for the requests of the tests. Each is both allowed and denied."""
