"""What an access control list (ACL) says, with the numbers of the protocol and of the metadata log.

Pure. Source: ``ResourceType``, ``PatternType``, ``AclOperation``, ``AclPermissionType``, ``StandardAcl``; KIP-11,
KIP-290.
"""

from enum import IntEnum
from typing import NamedTuple

WILDCARD = "*"
"""The name of all resources, the host of all clients, and the name of all principals of a type."""
ANY_USER = "User:*"
ANONYMOUS = "User:ANONYMOUS"
"""The principal of a client that has not authenticated (``KafkaPrincipal.ANONYMOUS``)."""
CLUSTER_NAME = "kafka-cluster"
"""The only resource of type CLUSTER."""


class AclResourceType(IntEnum):
    """What an ACL protects."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    """How the resource name of an ACL matches. ANY and MATCH are only in filters."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class AclOperation(IntEnum):
    """What an ACL allows or denies. ANY is only in filters."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class AclPermission(IntEnum):
    """Whether an ACL denies or allows (``AclPermissionType``). ANY is only in filters."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


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
