"""ACLs and filters of ACLs.

Pure. Source: ``AclBinding``, ``AclBindingFilter``, ``ResourceType``, ``PatternType``, ``AclOperation``,
``AclPermissionType``. ``str()`` gives the text of Java's ``toString``, which ``kafka-acls.sh`` prints.
"""

from typing import NamedTuple

from odradek.protocol.security.acl_names import CLUSTER_NAME, AclOperation, AclPermission, AclResourceType, PatternType

__all__ = [
    "CLUSTER_NAME",
    "AclBinding",
    "AclEntry",
    "AclOperation",
    "AclPermission",
    "AclResourceType",
    "PatternType",
    "ResourcePattern",
]
ANY_HOST = "*"


class ResourcePattern(NamedTuple):
    """The resources of an ACL, or of a filter: a ``name`` of None is any name."""

    resource_type: AclResourceType = AclResourceType.ANY
    name: str | None = None
    pattern_type: PatternType = PatternType.LITERAL

    def __str__(self) -> str:
        """As Java prints it."""
        name = "<any>" if self.name is None else self.name
        return (
            f"ResourcePattern(resourceType={self.resource_type.name}, name={name}, "
            f"patternType={self.pattern_type.name})"
        )


class AclEntry(NamedTuple):
    """Who may or may not do what, from where; or a filter of that, where None is any principal or host."""

    principal: str | None = None
    host: str | None = None
    operation: AclOperation = AclOperation.ANY
    permission: AclPermission = AclPermission.ANY

    def __str__(self) -> str:
        """As Java prints it."""
        return (
            f"(principal={_or_any(self.principal)}, host={_or_any(self.host)}, operation={self.operation.name}, "
            f"permissionType={self.permission.name})"
        )


class AclBinding(NamedTuple):
    """An ACL, or a filter of ACLs."""

    pattern: ResourcePattern
    entry: AclEntry

    def __str__(self) -> str:
        """As Java prints it."""
        return f"(pattern={self.pattern}, entry={self.entry})"


EVERY_ACL = AclBinding(ResourcePattern(pattern_type=PatternType.ANY), AclEntry())
"""The filter that matches all ACLs."""
OPERATIONS_OF = {
    AclResourceType.TOPIC: "READ WRITE CREATE DESCRIBE DELETE ALTER DESCRIBE_CONFIGS ALTER_CONFIGS",
    AclResourceType.GROUP: "READ DESCRIBE DELETE DESCRIBE_CONFIGS ALTER_CONFIGS",
    AclResourceType.CLUSTER: ("CREATE CLUSTER_ACTION DESCRIBE_CONFIGS ALTER_CONFIGS IDEMPOTENT_WRITE ALTER DESCRIBE"),
    AclResourceType.TRANSACTIONAL_ID: "DESCRIBE WRITE TWO_PHASE_COMMIT",
    AclResourceType.DELEGATION_TOKEN: "DESCRIBE",
    AclResourceType.USER: "CREATE_TOKENS DESCRIBE_TOKENS",
}
"""Resource type -> its operations, without ALL (``AclEntry.supportedOperations``)."""


def _or_any(text: str | None) -> str:
    return "<any>" if text is None else text
