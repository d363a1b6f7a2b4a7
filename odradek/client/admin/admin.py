"""The admin client: topics, partitions, configurations, groups, offsets, transactions.

Each call sends one or a few requests to the right broker (the controller, a leader, a coordinator). A call about
several topics, groups or partitions returns a dictionary; if some of them failed, it raises AdminError, which has the
errors and the results. Each base class has one family of requests.
Source: ``org.apache.kafka.clients.admin.KafkaAdminClient``.
"""

from .acl_types import (
    AclBinding,
    AclEntry,
    AclOperation,
    AclPermission,
    AclResourceType,
    PatternType,
    ResourcePattern,
)
from .acls import AclAdmin
from .base import ClusterDescription
from .client_quotas import ClientQuotaAdmin, DescribedQuotas, QuotaFilter
from .configs import ConfigAdmin, ConfigEntry, ConfigSynonym
from .delegation_tokens import DelegationTokenAdmin, IssuedToken
from .elections import ElectionAdmin, ElectionResult, ElectionType
from .features import FeatureAdmin, FeatureDescription, FeatureResult, UpgradeType
from .groups import GroupAdmin, GroupDescription, GroupListing, MemberDescription
from .log_dirs import LogDirAdmin, LogDirDescription, ReplicaInfo
from .nodes import NodeAdmin, NodeDescription
from .quorum import QuorumAdmin, QuorumDescription, QuorumReplica
from .reassignments import PartitionReassignment, ReassignmentAdmin, ReassignmentResult
from .records import RecordAdmin
from .scram_users import ScramDeletion, ScramUpsertion, ScramUserAdmin, UserCredential
from .share_groups import ShareGroupAdmin, SharePartitionOffset
from .streams_group_descriptions import StreamsGroupDescription, StreamsMemberDescription
from .streams_groups import StreamsGroupAdmin
from .topics import CreatedTopic, NewTopic, TopicAdmin
from .transactions import ProducerState, TransactionAdmin, TransactionDescription, TransactionListing

__all__ = [
    "AclBinding",
    "AclEntry",
    "AclOperation",
    "AclPermission",
    "AclResourceType",
    "Admin",
    "ClusterDescription",
    "ConfigEntry",
    "ConfigSynonym",
    "CreatedTopic",
    "DescribedQuotas",
    "ElectionResult",
    "ElectionType",
    "FeatureDescription",
    "FeatureResult",
    "GroupDescription",
    "GroupListing",
    "IssuedToken",
    "LogDirDescription",
    "MemberDescription",
    "NewTopic",
    "NodeDescription",
    "PartitionReassignment",
    "PatternType",
    "ProducerState",
    "QuorumDescription",
    "QuorumReplica",
    "QuotaFilter",
    "ReassignmentResult",
    "ReplicaInfo",
    "ResourcePattern",
    "ScramDeletion",
    "ScramUpsertion",
    "SharePartitionOffset",
    "StreamsGroupDescription",
    "StreamsMemberDescription",
    "TransactionDescription",
    "TransactionListing",
    "UpgradeType",
    "UserCredential",
]


class Admin(
    TopicAdmin,
    ConfigAdmin,
    RecordAdmin,
    GroupAdmin,
    ShareGroupAdmin,
    StreamsGroupAdmin,
    LogDirAdmin,
    TransactionAdmin,
    ElectionAdmin,
    FeatureAdmin,
    NodeAdmin,
    QuorumAdmin,
    ReassignmentAdmin,
    AclAdmin,
    ClientQuotaAdmin,
    ScramUserAdmin,
    DelegationTokenAdmin,
):
    """An asyncio admin client. All timeouts are in ms."""
