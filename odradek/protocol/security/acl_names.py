"""The enums of ACLs, with their numbers in the protocol: resource types, pattern types, operations, permissions.

Pure. Source: ``ResourceType``, ``PatternType``, ``AclOperation``, ``AclPermissionType``; KIP-11, KIP-290.
"""

from enum import IntEnum
from typing import TypeVar

CLUSTER_NAME = "kafka-cluster"
"""The only resource of type CLUSTER."""
Name = TypeVar("Name", bound=IntEnum)


def known_name(names: type[Name], number: int) -> Name:
    """The enum member of a number; UNKNOWN for a number that Kafka 4.3 does not have, as in Java."""
    return names(number) if number in names.__members__.values() else names["UNKNOWN"]


class AclResourceType(IntEnum):
    """The type of resource that an ACL applies to. ANY is only in filters."""

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
    """The operation that an ACL allows or denies. ANY is only in filters."""

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
