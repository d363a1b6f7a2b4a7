"""The admin client: topics, partitions, configurations, groups, offsets, transactions.

Each call is one or a few requests to the right broker (the controller, a leader, a coordinator). A call over several
parts gives a dictionary; when some failed it raises AdminError, which has both the errors and the results. It is put
together from one class for each family of requests. Source: ``org.apache.kafka.clients.admin.KafkaAdminClient``.
"""

from .base import ClusterDescription
from .configs import ConfigAdmin, ConfigEntry, ConfigSynonym
from .elections import ElectionAdmin, ElectionResult, ElectionType
from .features import FeatureAdmin, FeatureDescription, FeatureResult, UpgradeType
from .groups import GroupAdmin, GroupDescription, GroupListing, MemberDescription
from .log_dirs import LogDirAdmin, LogDirDescription, ReplicaInfo
from .nodes import NodeAdmin, NodeDescription
from .quorum import QuorumAdmin, QuorumDescription, QuorumReplica
from .reassignments import PartitionReassignment, ReassignmentAdmin, ReassignmentResult
from .records import RecordAdmin
from .topics import CreatedTopic, NewTopic, TopicAdmin
from .transactions import ProducerState, TransactionAdmin, TransactionDescription, TransactionListing

__all__ = [
    "Admin",
    "ClusterDescription",
    "ConfigEntry",
    "ConfigSynonym",
    "CreatedTopic",
    "ElectionResult",
    "ElectionType",
    "FeatureDescription",
    "FeatureResult",
    "GroupDescription",
    "GroupListing",
    "LogDirDescription",
    "MemberDescription",
    "NewTopic",
    "NodeDescription",
    "PartitionReassignment",
    "ProducerState",
    "QuorumDescription",
    "QuorumReplica",
    "ReassignmentResult",
    "ReplicaInfo",
    "TransactionDescription",
    "TransactionListing",
    "UpgradeType",
]


class Admin(
    TopicAdmin,
    ConfigAdmin,
    RecordAdmin,
    GroupAdmin,
    LogDirAdmin,
    TransactionAdmin,
    ElectionAdmin,
    FeatureAdmin,
    NodeAdmin,
    QuorumAdmin,
    ReassignmentAdmin,
):
    """An asyncio admin client. Times in ms."""
