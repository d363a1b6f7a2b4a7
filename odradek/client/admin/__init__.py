"""The admin client, one module for each family of requests. Kafka: ``KafkaAdminClient``.

Importing this package imports none of its modules; each name is imported when it is first used (PEP 562).
"""

from typing import TYPE_CHECKING

# By full names: mypy also meets this file under a package of tests/.
from odradek.protocol.common.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from odradek.client.admin.acl_types import (
        AclBinding,
        AclEntry,
        AclOperation,
        AclPermission,
        AclResourceType,
        PatternType,
        ResourcePattern,
    )
    from odradek.client.admin.admin import Admin
    from odradek.client.admin.base import ClusterDescription
    from odradek.client.admin.client_quotas import DescribedQuotas, QuotaFilter
    from odradek.client.admin.configs import ConfigEntry, ConfigSynonym
    from odradek.client.admin.delegation_tokens import IssuedToken
    from odradek.client.admin.elections import ElectionResult, ElectionType
    from odradek.client.admin.features import FeatureDescription, FeatureResult, UpgradeType
    from odradek.client.admin.groups import GroupDescription, GroupListing, MemberDescription
    from odradek.client.admin.log_dirs import LogDirDescription, ReplicaInfo
    from odradek.client.admin.nodes import NodeDescription
    from odradek.client.admin.quorum import QuorumDescription, QuorumReplica
    from odradek.client.admin.reassignments import PartitionReassignment, ReassignmentResult
    from odradek.client.admin.scram_users import ScramDeletion, ScramUpsertion, UserCredential
    from odradek.client.admin.topics import CreatedTopic, NewTopic
    from odradek.client.admin.transactions import ProducerState, TransactionDescription, TransactionListing
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "AclBinding": "acl_types",
            "AclEntry": "acl_types",
            "AclOperation": "acl_types",
            "AclPermission": "acl_types",
            "Admin": "admin",
            "DescribedQuotas": "client_quotas",
            "ClusterDescription": "base",
            "ConfigEntry": "configs",
            "ConfigSynonym": "configs",
            "CreatedTopic": "topics",
            "IssuedToken": "delegation_tokens",
            "ElectionResult": "elections",
            "ElectionType": "elections",
            "FeatureDescription": "features",
            "FeatureResult": "features",
            "GroupDescription": "groups",
            "GroupListing": "groups",
            "LogDirDescription": "log_dirs",
            "MemberDescription": "groups",
            "NewTopic": "topics",
            "NodeDescription": "nodes",
            "PartitionReassignment": "reassignments",
            "PatternType": "acl_types",
            "ProducerState": "transactions",
            "QuorumDescription": "quorum",
            "QuorumReplica": "quorum",
            "QuotaFilter": "client_quotas",
            "ReassignmentResult": "reassignments",
            "ReplicaInfo": "log_dirs",
            "ResourcePattern": "acl_types",
            "AclResourceType": "acl_types",
            "UserCredential": "scram_users",
            "ScramDeletion": "scram_users",
            "ScramUpsertion": "scram_users",
            "TransactionDescription": "transactions",
            "TransactionListing": "transactions",
            "UpgradeType": "features",
        },
    )

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
    "TransactionDescription",
    "TransactionListing",
    "UpgradeType",
    "UserCredential",
]
