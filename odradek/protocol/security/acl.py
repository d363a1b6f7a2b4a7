"""An access control list entry (ACL), with the numeric codes of the protocol and of the metadata log.

Pure. Source: ``ResourceType``, ``PatternType``, ``AclOperation``, ``AclPermissionType``, ``StandardAcl``; KIP-11,
KIP-290.
"""

from typing import NamedTuple

from .acl_names import CLUSTER_NAME, AclOperation, AclPermission, AclResourceType, PatternType

__all__ = [
    "ANONYMOUS",
    "ANY_USER",
    "CLUSTER_NAME",
    "WILDCARD",
    "Acl",
    "AclOperation",
    "AclPermission",
    "AclResourceType",
    "PatternType",
]

WILDCARD = "*"
"""Stands for any resource name, any host, and any name in a principal."""
ANY_USER = "User:*"
ANONYMOUS = "User:ANONYMOUS"
"""The principal of a client that has not authenticated (``KafkaPrincipal.ANONYMOUS``)."""


class Acl(NamedTuple):
    """One ACL: allows or denies a principal at a host an operation on the resources that match a pattern.

    ``principal`` is ``Type:name``. The fields are numbers and not enums, because the metadata log may hold numbers that
    this program does not know. An ACL with an unknown number allows and denies nothing.
    """

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission: int
