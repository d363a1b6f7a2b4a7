"""Requests for every API that checks authorization, on the resource names that the tests' ACLs refer to."""

from collections.abc import Callable
from typing import NamedTuple

from odradek.protocol.messages.configs import ListConfigResourcesRequest
from odradek.protocol.messages.consumer_groups import ConsumerGroupDescribeRequest
from odradek.protocol.messages.groups import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from odradek.protocol.messages.log_dirs import AlterReplicaLogDirsRequest, DescribeLogDirsRequest
from odradek.protocol.messages.metadata import (
    DescribeClusterRequest,
    DescribeTopicPartitionsRequest,
)
from odradek.protocol.messages.offsets import DeleteRecordsRequest, ListOffsetsRequest, OffsetForLeaderEpochRequest
from odradek.protocol.messages.quorum import DescribeQuorumRequest
from odradek.protocol.messages.quotas import DescribeClientQuotasRequest
from odradek.protocol.messages.security import CreateAclsRequest, DeleteAclsRequest, DescribeAclsRequest
from odradek.protocol.messages.share_groups import (
    DeleteShareGroupStateRequest,
    InitializeShareGroupStateRequest,
    ReadShareGroupStateRequest,
    ReadShareGroupStateSummaryRequest,
    WriteShareGroupStateRequest,
)
from odradek.protocol.messages.structure import Message
from odradek.protocol.messages.topics import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
)
from odradek.protocol.messages.transactions import (
    AddOffsetsToTxnRequest,
    DescribeProducersRequest,
    DescribeTransactionsRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    ListTransactionsRequest,
)
from parity.authorization_names import GROUPS, LASTING_TRANSACTION, SHARE_PARTITION, TOPICS
from parity.authorization_of_clients import (
    add_voter,
    alter_quotas,
    alter_users,
    create_token,
    describe_tokens,
    describe_users,
    expire_token,
    remove_voter,
    renew_token,
    unregister_broker,
    unregister_controller,
    update_features,
)
from parity.authorization_of_configs import describe_configs, incremental, legacy, logger_level
from parity.authorization_of_share_groups import (
    acknowledgement_of_sharer,
    alter_offsets_of_others,
    alter_share_offsets,
    delete_share_offsets,
    describe_share_groups,
    describe_share_offsets,
    fetch_of_sharer,
    heartbeat_of_sharer,
)
from parity.authorization_of_streams_groups import (
    describe_streams_groups,
    describe_topology,
    heartbeat_of_streams_member,
    joining_with_missing_topic,
)
from parity.authorization_requests import (
    TRANSACTIONAL_ID,
    add_partitions,
    commit_topics,
    fetch,
    heartbeat_of_consumer,
    metadata,
    offset_fetch,
    produce,
    reassignments,
    share_state,
    txn_offset_commit,
    write_markers,
)

ABSENT = "absent-topic"


class Question(NamedTuple):
    """A request of one version. ``make`` receives a broker's topic ids by topic name."""

    name: str
    version: int
    make: Callable[[dict[str, bytes]], Message]


def _always(request: Callable[[], Message]) -> Callable[[dict[str, bytes]], Message]:
    return lambda _: request()


QUESTIONS: tuple[Question, ...] = (
    Question("Produce by name", 12, lambda ids: produce(ids, by_id=False)),
    Question("Produce by id", 13, lambda ids: produce(ids, by_id=True)),
    Question("Produce in a transaction", 12, lambda ids: produce(ids, False, TRANSACTIONAL_ID, is_flagged=True)),
    Question("Produce in a transaction without its id", 12, lambda ids: produce(ids, False, None, is_flagged=True)),
    Question("Produce with an id without a transaction", 12, lambda ids: produce(ids, False, TRANSACTIONAL_ID)),
    Question("Fetch by name", 12, lambda ids: fetch(ids, by_id=False)),
    Question("Fetch by id", 17, lambda ids: fetch(ids, by_id=True)),
    Question("Fetch of a follower", 12, lambda ids: fetch(ids, by_id=False, replica_id=2)),
    Question("Fetch of a follower by id", 17, lambda ids: fetch(ids, by_id=True, replica_id=2)),
    Question(
        "ListOffsets",
        10,
        _always(
            lambda: ListOffsetsRequest(
                -1,
                0,
                [
                    ListOffsetsRequest.ListOffsetsTopic(name, [ListOffsetsRequest.ListOffsetsPartition(0, -1, -1)])
                    for name in TOPICS
                ],
            )
        ),
    ),
    Question("Metadata 0", 0, lambda ids: metadata(ids, kind="names")),
    Question(
        "Metadata of names",
        12,
        lambda ids: metadata(
            ids, kind="names", allow_auto_topic_creation=False, include_topic_authorized_operations=True
        ),
    ),
    Question(
        "Metadata of names, 10",
        10,
        lambda ids: metadata(
            ids,
            kind="names",
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=True,
            include_cluster_authorized_operations=True,
        ),
    ),
    Question("Metadata of ids", 13, lambda ids: metadata(ids, kind="ids")),
    Question("Metadata of all", 13, lambda ids: metadata(ids, kind="all", include_topic_authorized_operations=True)),
    Question(
        "OffsetCommit",
        9,
        _always(lambda: OffsetCommitRequest(GROUPS[0], -1, "", topics=commit_topics(OffsetCommitRequest))),
    ),
    Question(
        "OffsetCommit by id",
        10,
        lambda ids: OffsetCommitRequest(GROUPS[0], -1, "", topics=commit_topics(OffsetCommitRequest, ids)),
    ),
    Question("OffsetFetch", 9, _always(lambda: offset_fetch(all_topics=False))),
    Question("OffsetFetch of all", 9, _always(lambda: offset_fetch(all_topics=True))),
    Question(
        "OffsetFetch 7",
        7,
        _always(
            lambda: OffsetFetchRequest(
                GROUPS[0], [OffsetFetchRequest.OffsetFetchRequestTopic(name, [0]) for name in TOPICS]
            )
        ),
    ),
    Question("OffsetFetch 7 of all", 7, _always(lambda: OffsetFetchRequest(GROUPS[0], None))),
    Question(
        "FindCoordinator of groups",
        6,
        _always(lambda: FindCoordinatorRequest(key_type=0, coordinator_keys=list(GROUPS))),
    ),
    Question("FindCoordinator of a group", 3, _always(lambda: FindCoordinatorRequest(GROUPS[0], 0))),
    Question(
        "FindCoordinator of a transaction",
        6,
        _always(lambda: FindCoordinatorRequest(key_type=1, coordinator_keys=[TRANSACTIONAL_ID])),
    ),
    Question(
        "FindCoordinator of a share partition",
        6,
        _always(lambda: FindCoordinatorRequest(key_type=2, coordinator_keys=[SHARE_PARTITION, "shared"])),
    ),
    Question("InitializeShareGroupState", 0, share_state(InitializeShareGroupStateRequest)),
    Question("ReadShareGroupState", 0, share_state(ReadShareGroupStateRequest)),
    Question("WriteShareGroupState", 1, share_state(WriteShareGroupStateRequest)),
    Question("DeleteShareGroupState", 0, share_state(DeleteShareGroupStateRequest)),
    Question("ReadShareGroupStateSummary", 1, share_state(ReadShareGroupStateSummaryRequest)),
    Question(
        "JoinGroup",
        9,
        _always(
            lambda: JoinGroupRequest(
                "classic",
                10_000,
                10_000,
                "",
                None,
                "consumer",
                [JoinGroupRequest.JoinGroupRequestProtocol("range", b"")],
            )
        ),
    ),
    Question("Heartbeat", 4, _always(lambda: HeartbeatRequest(GROUPS[0], 1, "nobody"))),
    Question(
        "LeaveGroup",
        5,
        _always(lambda: LeaveGroupRequest(GROUPS[0], members=[LeaveGroupRequest.MemberIdentity("nobody")])),
    ),
    Question("SyncGroup", 5, _always(lambda: SyncGroupRequest(GROUPS[0], 1, "nobody", None, "consumer", "range", []))),
    Question("SyncGroup without its protocol", 5, _always(lambda: SyncGroupRequest(GROUPS[0], 1, "nobody"))),
    Question("DescribeGroups", 6, _always(lambda: DescribeGroupsRequest(list(GROUPS), True))),
    Question("ListGroups", 5, _always(ListGroupsRequest)),
    Question("DeleteGroups", 2, _always(lambda: DeleteGroupsRequest(["unknown"]))),
    Question(
        "OffsetDelete",
        0,
        _always(
            lambda: OffsetDeleteRequest(
                GROUPS[1],
                [
                    OffsetDeleteRequest.OffsetDeleteRequestTopic(
                        "hidden", [OffsetDeleteRequest.OffsetDeleteRequestPartition(1)]
                    )
                ],
            )
        ),
    ),
    Question(
        "CreateTopics",
        7,
        _always(
            lambda: CreateTopicsRequest(
                [CreateTopicsRequest.CreatableTopic(name, 1, 1) for name in (*TOPICS, ABSENT)], 10_000, True
            )
        ),
    ),
    Question(
        "DeleteTopics by name",
        6,
        _always(
            lambda: DeleteTopicsRequest(
                [DeleteTopicsRequest.DeleteTopicState(name) for name in ("missing", ABSENT)], timeout_ms=10_000
            )
        ),
    ),
    Question(
        "DeleteTopics 5", 5, _always(lambda: DeleteTopicsRequest(topic_names=["missing", ABSENT], timeout_ms=10_000))
    ),
    Question(
        "DeleteRecords",
        2,
        _always(
            lambda: DeleteRecordsRequest(
                [
                    DeleteRecordsRequest.DeleteRecordsTopic(name, [DeleteRecordsRequest.DeleteRecordsPartition(0, 0)])
                    for name in TOPICS
                ],
                10_000,
            )
        ),
    ),
    Question("InitProducerId", 4, _always(lambda: InitProducerIdRequest(None, 60_000))),
    Question(
        "InitProducerId of a transaction", 4, _always(lambda: InitProducerIdRequest(TRANSACTIONAL_ID, 60_000, 4_000, 9))
    ),
    Question(
        "OffsetForLeaderEpoch",
        4,
        _always(
            lambda: OffsetForLeaderEpochRequest(
                -2,
                [
                    OffsetForLeaderEpochRequest.OffsetForLeaderTopic(
                        name, [OffsetForLeaderEpochRequest.OffsetForLeaderPartition(0, -1, 0)]
                    )
                    for name in TOPICS
                ],
            )
        ),
    ),
    Question("AddPartitionsToTxn 3", 3, _always(lambda: add_partitions(3))),
    Question("AddPartitionsToTxn 5", 5, _always(lambda: add_partitions(5))),
    Question("AddOffsetsToTxn", 4, _always(lambda: AddOffsetsToTxnRequest(TRANSACTIONAL_ID, 4_000, 0, GROUPS[0]))),
    Question("EndTxn", 5, _always(lambda: EndTxnRequest(TRANSACTIONAL_ID, 4_000, 0, True))),
    Question("WriteTxnMarkers", 1, write_markers),
    Question("TxnOffsetCommit", 4, txn_offset_commit),
    Question("DescribeAcls", 3, _always(lambda: DescribeAclsRequest(2, "orders", 3, None, None, 1, 1))),
    Question(
        "CreateAcls",
        3,
        _always(
            lambda: CreateAclsRequest(
                [
                    CreateAclsRequest.AclCreation(4, "wrong", 3, "User:a", "*", 3, 3),
                    CreateAclsRequest.AclCreation(2, "", 3, "User:a", "*", 3, 3),
                    CreateAclsRequest.AclCreation(2, "t", 3, "a", "*", 3, 3),
                ]
            )
        ),
    ),
    Question(
        "CreateAcls with ANY",
        3,
        _always(lambda: CreateAclsRequest([CreateAclsRequest.AclCreation(2, "t", 3, "User:a", "*", 1, 3)])),
    ),
    Question(
        "DeleteAcls",
        3,
        _always(
            lambda: DeleteAclsRequest([DeleteAclsRequest.DeleteAclsFilter(2, "no such topic", 3, None, None, 1, 1)])
        ),
    ),
    Question("DescribeConfigs", 4, describe_configs),
    Question("AlterConfigs", 2, legacy),
    Question("IncrementalAlterConfigs", 1, incremental),
    Question("IncrementalAlterConfigs of a logger", 1, logger_level),
    Question(
        "AlterReplicaLogDirs",
        2,
        _always(
            lambda: AlterReplicaLogDirsRequest(
                [
                    AlterReplicaLogDirsRequest.AlterReplicaLogDir(
                        "/nowhere", [AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic("orders", [0])]
                    )
                ]
            )
        ),
    ),
    Question("DescribeLogDirs", 2, _always(lambda: DescribeLogDirsRequest([]))),
    Question("DescribeLogDirs 5", 5, _always(lambda: DescribeLogDirsRequest([]))),
    Question(
        "CreatePartitions",
        3,
        _always(
            lambda: CreatePartitionsRequest(
                [CreatePartitionsRequest.CreatePartitionsTopic(name, 4, None) for name in TOPICS], 10_000, True
            )
        ),
    ),
    Question(
        "ElectLeaders",
        2,
        _always(lambda: ElectLeadersRequest(0, [ElectLeadersRequest.TopicPartitions(name, [0]) for name in TOPICS])),
    ),
    Question("AlterPartitionReassignments", 1, reassignments),
    Question("ListPartitionReassignments", 0, _always(ListPartitionReassignmentsRequest)),
    Question("DescribeClientQuotas", 1, _always(lambda: DescribeClientQuotasRequest([], False))),
    Question("AlterClientQuotas", 1, alter_quotas),
    Question("DescribeUserScramCredentials", 0, describe_users),
    Question("AlterUserScramCredentials", 0, alter_users),
    Question("UpdateFeatures", 2, update_features),
    Question("UnregisterBroker", 0, unregister_broker),
    Question("AddRaftVoter", 0, add_voter),
    Question("RemoveRaftVoter", 0, remove_voter),
    Question("CreateDelegationToken", 3, create_token),
    Question("RenewDelegationToken", 2, renew_token),
    Question("ExpireDelegationToken", 2, expire_token),
    Question("DescribeDelegationToken", 3, describe_tokens),
    Question(
        "DescribeQuorum",
        2,
        _always(
            lambda: DescribeQuorumRequest(
                [DescribeQuorumRequest.TopicData("orders", [DescribeQuorumRequest.PartitionData(0)])]
            )
        ),
    ),
    Question("DescribeCluster", 2, _always(lambda: DescribeClusterRequest(True))),
    Question(
        "DescribeProducers",
        0,
        _always(
            lambda: DescribeProducersRequest([DescribeProducersRequest.TopicRequest(name, [0]) for name in TOPICS])
        ),
    ),
    Question(
        "DescribeTransactions",
        0,
        _always(lambda: DescribeTransactionsRequest([TRANSACTIONAL_ID, LASTING_TRANSACTION, "unknown"])),
    ),
    Question("ListTransactions", 1, _always(ListTransactionsRequest)),
    Question("ListConfigResources", 1, _always(lambda: ListConfigResourcesRequest([2]))),
    Question("ConsumerGroupHeartbeat", 1, heartbeat_of_consumer),
    Question("ConsumerGroupDescribe", 1, _always(lambda: ConsumerGroupDescribeRequest(["modern", "unknown"], True))),
    Question(
        "DescribeTopicPartitions",
        0,
        _always(
            lambda: DescribeTopicPartitionsRequest(
                [DescribeTopicPartitionsRequest.TopicRequest(name) for name in sorted(TOPICS)]
            )
        ),
    ),
    Question("DescribeTopicPartitions of all", 0, _always(DescribeTopicPartitionsRequest)),
    Question("ShareGroupHeartbeat", 1, heartbeat_of_sharer),
    Question("ShareFetch", 2, fetch_of_sharer),
    Question("ShareAcknowledge", 2, acknowledgement_of_sharer),
    Question("ShareGroupDescribe", 1, describe_share_groups),
    Question("DescribeShareGroupOffsets", 1, describe_share_offsets),
    Question("AlterShareGroupOffsets", 0, alter_share_offsets),
    Question("AlterShareGroupOffsets with a member", 0, alter_offsets_of_others),
    Question("DeleteShareGroupOffsets", 0, delete_share_offsets),
    # A new question comes last: each takes a random user, and so those before it keep theirs.
    Question("UnregisterController", 0, unregister_controller),
    Question("StreamsGroupHeartbeat", 1, heartbeat_of_streams_member),
    Question("StreamsGroupHeartbeat, a missing topic", 1, joining_with_missing_topic),
    Question("StreamsGroupDescribe", 1, describe_streams_groups),
    Question("StreamsGroupTopologyDescriptionUpdate", 0, describe_topology),
)
