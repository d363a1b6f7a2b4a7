"""The admin client's part for ACLs. Source: ``Admin.createAcls``, ``describeAcls``, ``deleteAcls``; KIP-140."""

from collections.abc import Iterable

from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.security import (
    CreateAclsRequest,
    CreateAclsResponse,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DescribeAclsRequest,
    DescribeAclsResponse,
)
from odradek.protocol.security.acl_names import known_name

from ..errors import broker_error
from .acl_types import (
    EVERY_ACL,
    AclBinding,
    AclEntry,
    AclOperation,
    AclPermission,
    AclResourceType,
    PatternType,
    ResourcePattern,
)
from .base import AdminBase, all_or_raise, split


class AclAdmin(AdminBase):
    """Calls about ACLs; part of Admin."""

    async def create_acls(self, bindings: Iterable[AclBinding]) -> None:
        """Creates ACLs. An ACL that exists already is not created twice, and is not an error.

        Raises AdminError with the errors by ACL: SECURITY_DISABLED without an authorizer,
        CLUSTER_AUTHORIZATION_FAILED, INVALID_REQUEST.
        """
        added = list(bindings)
        request = CreateAclsRequest(
            [
                CreateAclsRequest.AclCreation(
                    resource_type=pattern.resource_type,
                    resource_name=pattern.name or "",
                    resource_pattern_type=pattern.pattern_type,
                    principal=entry.principal or "",
                    host=entry.host or "",
                    operation=entry.operation,
                    permission_type=entry.permission,
                )
                for pattern, entry in added
            ]
        )
        response = await self._controller_call(request, CreateAclsResponse)
        pairs = zip(added, response.results, strict=True)
        errors, results = split((binding, result.error_code, result.error_message, None) for binding, result in pairs)
        all_or_raise(errors, results)

    async def describe_acls(self, acl_filter: AclBinding = EVERY_ACL) -> list[AclBinding]:
        """The ACLs that match the filter. Raises KafkaError: SECURITY_DISABLED, CLUSTER_AUTHORIZATION_FAILED."""
        pattern, entry = acl_filter
        request = DescribeAclsRequest(
            resource_type_filter=pattern.resource_type,
            resource_name_filter=pattern.name,
            pattern_type_filter=pattern.pattern_type,
            principal_filter=entry.principal,
            host_filter=entry.host,
            operation=entry.operation,
            permission_type=entry.permission,
        )
        connection = await self._cluster.any_connection()
        response = await connection.call(request, DescribeAclsResponse, timeout_ms=self._timeout_ms)
        if response.error_code:
            raise broker_error(response.error_code, "DescribeAcls", response.error_message)
        return [
            AclBinding(
                _pattern(resource.resource_type, resource.resource_name, resource.pattern_type),
                _entry(acl.principal, acl.host, acl.operation, acl.permission_type),
            )
            for resource in response.resources
            for acl in resource.acls
        ]

    async def delete_acls(self, filters: Iterable[AclBinding]) -> list[AclBinding]:
        """Deletes the ACLs that match any of the filters and returns the deleted ones.

        Raises AdminError; its errors are by filter, or by ACL if only the deletion of an ACL failed.
        """
        acl_filters = list(filters)
        request = DeleteAclsRequest(
            [
                DeleteAclsRequest.DeleteAclsFilter(
                    resource_type_filter=pattern.resource_type,
                    resource_name_filter=pattern.name,
                    pattern_type_filter=pattern.pattern_type,
                    principal_filter=entry.principal,
                    host_filter=entry.host,
                    operation=entry.operation,
                    permission_type=entry.permission,
                )
                for pattern, entry in acl_filters
            ]
        )
        response = await self._controller_call(request, DeleteAclsResponse)
        errors: dict[AclBinding, KafkaError] = {}
        deleted: dict[AclBinding, None] = {}
        for binding, result in zip(acl_filters, response.filter_results, strict=True):
            if result.error_code:
                errors[binding] = broker_error(result.error_code, f"'{binding}'", result.error_message)
            for acl in result.matching_acls:
                found = AclBinding(
                    _pattern(acl.resource_type, acl.resource_name, acl.pattern_type),
                    _entry(acl.principal, acl.host, acl.operation, acl.permission_type),
                )
                if acl.error_code:
                    errors[found] = broker_error(acl.error_code, f"'{found}'", acl.error_message)
                else:
                    deleted[found] = None
        return list(all_or_raise(errors, deleted))


def _pattern(resource_type: int, name: str, pattern_type: int) -> ResourcePattern:
    return ResourcePattern(known_name(AclResourceType, resource_type), name, known_name(PatternType, pattern_type))


def _entry(principal: str, host: str, operation: int, permission: int) -> AclEntry:
    return AclEntry(principal, host, known_name(AclOperation, operation), known_name(AclPermission, permission))
