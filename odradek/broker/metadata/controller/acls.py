"""Creates and deletes ACLs. Pure: requests go in, records come out.

Source: AclControlManager, AclApis, AclBindingFilter, ResourcePatternFilter; KIP-140, KIP-290.
"""

from typing import NamedTuple

from odradek.protocol.apis.metadata_versions import level_name
from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.metadata_records import AccessControlEntryRecord, RemoveAccessControlEntryRecord
from odradek.protocol.messages.security import (
    CreateAclsRequest,
    CreateAclsResponse,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DescribeAclsRequest,
)
from odradek.protocol.security.acl import (
    CLUSTER_NAME,
    WILDCARD,
    Acl,
    AclOperation,
    AclPermission,
    AclResourceType,
    PatternType,
)
from odradek.protocol.security.host_range import SLASH, HostRange

from ..image.features import HOST_RANGES_SUPPORTED
from ..image.image import MetadataImage
from ..publisher.decision import NO_ERROR, ApiError, Decision
from .controller import Controller

MAX_CHANGES = 10_000
"""The most ACLs that one request creates or deletes (``MAX_RECORDS_PER_USER_OP``)."""
ACLS_A_STEP = 500


class AclFilter(NamedTuple):
    """A filter of ACLs. A name, principal or host of None matches any."""

    resource_type: int
    resource_name: str | None
    pattern_type: int
    principal: str | None
    host: str | None
    operation: int
    permission: int

    def matches(self, acl: Acl) -> bool:
        """Whether the filter matches an ACL."""
        return (
            self.resource_type in (AclResourceType.ANY, acl.resource_type)
            and self._matches_name(acl)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (AclOperation.ANY, acl.operation)
            and self.permission in (AclPermission.ANY, acl.permission)
        )

    def _matches_name(self, acl: Acl) -> bool:
        if self.pattern_type not in (PatternType.ANY, PatternType.MATCH, acl.pattern_type):
            return False
        if self.resource_name is None:
            return True
        if self.pattern_type != PatternType.MATCH:
            return self.resource_name == acl.resource_name
        if acl.pattern_type == PatternType.PREFIXED:
            return self.resource_name.startswith(acl.resource_name)
        return acl.resource_name in (self.resource_name, WILDCARD)


def create_acls(
    image: MetadataImage, request: CreateAclsRequest, controller: Controller
) -> Steps[Decision[CreateAclsResponse]]:
    """Creates the ACLs that are valid and not there yet. Raises KafkaError for more than :data:`MAX_CHANGES`."""
    decision: Decision[CreateAclsResponse] = Decision(CreateAclsResponse())
    existing = set(image.acls.values())
    for number, creation in enumerate(request.creations, 1):
        acl = Acl(
            creation.resource_type,
            creation.resource_name,
            creation.resource_pattern_type,
            creation.principal,
            creation.host,
            creation.operation,
            creation.permission_type,
        )
        error = _problem(acl)
        if error is NO_ERROR:
            error = _problem_of_host(acl.host, image.metadata_version)
        if error is NO_ERROR and acl not in existing:
            existing.add(acl)
            decision.records.append(AccessControlEntryRecord(controller.random_uuid(), *acl))
            if len(decision.records) > MAX_CHANGES:
                raise KafkaError(ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation.")
        decision.response.results.append(CreateAclsResponse.AclCreationResult(error.code, error.message))
        if not number % ACLS_A_STEP:
            yield
    return decision


def _problem(acl: Acl) -> ApiError:
    if acl.resource_type == AclResourceType.CLUSTER and acl.resource_name != CLUSTER_NAME:
        return ApiError(ErrorCode.INVALID_REQUEST, f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not acl.resource_name:
        return ApiError(ErrorCode.INVALID_REQUEST, "Invalid empty resource name")
    if ":" not in acl.principal:
        return ApiError(
            ErrorCode.INVALID_REQUEST,
            f"Could not parse principal from `{acl.principal}` (no colon is present separating the principal type from "
            "the principal name)",
        )
    return NO_ERROR


def _problem_of_host(host: str, metadata_version: int) -> ApiError:
    """What is wrong with the host of a new ACL: it is empty, or a range of addresses that is malformed or too early."""
    if not host:
        return ApiError(ErrorCode.INVALID_REQUEST, "Host pattern cannot be null or empty")
    if SLASH not in host:
        return NO_ERROR
    if metadata_version < HOST_RANGES_SUPPORTED:
        needed = level_name(HOST_RANGES_SUPPORTED)
        return ApiError(
            ErrorCode.UNSUPPORTED_VERSION, f"CIDR-based ACL host patterns require metadata version {needed} or higher."
        )
    try:
        HostRange.parse(host)
    except ValueError as problem:
        return ApiError(ErrorCode.INVALID_REQUEST, f"Invalid CIDR notation '{host}': {problem}")
    return NO_ERROR


def delete_acls(
    image: MetadataImage, request: DeleteAclsRequest, _controller: Controller
) -> Steps[Decision[DeleteAclsResponse]]:
    """Deletes the ACLs that match a filter. If there are more than :data:`MAX_CHANGES`, deletes none and raises
    KafkaError."""
    decision: Decision[DeleteAclsResponse] = Decision(DeleteAclsResponse())
    removed: dict[bytes, None] = {}
    for wanted in request.filters:
        meant = yield from matching(image, filter_of(wanted))
        removed.update(dict.fromkeys(acl_id for acl_id, _ in meant))
        if len(removed) > MAX_CHANGES:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST, f"Cannot remove more than {MAX_CHANGES} acls in a single delete operation."
            )
        decision.response.filter_results.append(
            DeleteAclsResponse.DeleteAclsFilterResult(
                matching_acls=[DeleteAclsResponse.DeleteAclsMatchingAcl(0, None, *acl) for _, acl in meant]
            )
        )
    decision.records += map(RemoveAccessControlEntryRecord, removed)
    return decision


def matching(image: MetadataImage, wanted: AclFilter) -> Steps[list[tuple[bytes, Acl]]]:
    """The ACLs that match a filter, with their ids."""
    found: list[tuple[bytes, Acl]] = []
    for number, (acl_id, acl) in enumerate(list(image.acls.items()), 1):
        if wanted.matches(acl):
            found.append((acl_id, acl))
        if not number % ACLS_A_STEP:
            yield
    return found


def filter_of(wanted: DescribeAclsRequest | DeleteAclsRequest.DeleteAclsFilter) -> AclFilter:
    """The filter of DescribeAcls, or one of DeleteAcls."""
    return AclFilter(
        wanted.resource_type_filter,
        wanted.resource_name_filter,
        wanted.pattern_type_filter,
        wanted.principal_filter,
        wanted.host_filter,
        wanted.operation,
        wanted.permission_type,
    )
