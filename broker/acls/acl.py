"""What an access control list (ACL) says, with the numbers of the protocol and of the metadata log.

Pure. Source: ``ResourceType``, ``PatternType``, ``AclOperation``, ``AclPermissionType``, ``StandardAcl``; KIP-11,
KIP-290.
"""

from typing import NamedTuple

from ...protocol.security.acl_names import CLUSTER_NAME, AclOperation, AclPermission, AclResourceType, PatternType

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
"""The name of all resources, the host of all clients, and the name of all principals of a type."""
ANY_USER = "User:*"
ANONYMOUS = "User:ANONYMOUS"
"""The principal of a client that has not authenticated (``KafkaPrincipal.ANONYMOUS``)."""


class Acl(NamedTuple):
    """One ACL: a principal at a host is allowed, or denied, an operation on the resources of a pattern.

    ``principal`` is ``Type:name``. Two equal ACLs are one. The numbers come from the metadata log, which a foreign
    program may have written, so an unknown one stays a number, and such an ACL matches nothing.
    """

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission: int
