"""DescribeAcls (29): the ACLs that match a filter.

Versions: 0 to 3. 1: pattern types. 2: flexible.
Errors: SECURITY_DISABLED (no authorizer), CLUSTER_AUTHORIZATION_FAILED. A filter with a field of value UNKNOWN closes
the connection.
Source: KIP-140, KIP-290; ``AclApis.handleDescribeAcls``, ``DescribeAclsRequest.normalizeAndValidate``.
"""

from collections.abc import Callable, Iterator

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.security import DescribeAclsRequest, DescribeAclsResponse

from ..dispatch.request import ConnectionRefusal, RequestContext
from ..metadata.controller.acls import AclFilter, filter_of, matching
from .parts import ControllerParts

API_KEY = ApiKey.DESCRIBE_ACLS
UNKNOWN = 0
"""The code of UNKNOWN in ``ResourceType``, ``PatternType``, ``AclOperation`` and ``AclPermissionType``."""
NO_AUTHORIZER = "No Authorizer is configured on the broker"


def handle(
    broker: ControllerParts,
    request: DescribeAclsRequest,
    _context: RequestContext,
    reply: Callable[[DescribeAclsResponse], None],
) -> Iterator[object] | None:
    """Answers with the matching ACLs grouped by resource, in slices. Raises ConnectionRefusal for an UNKNOWN field."""
    wanted = filter_of(request)
    if UNKNOWN in (wanted.resource_type, wanted.pattern_type, wanted.operation, wanted.permission):
        raise ConnectionRefusal("a DescribeAcls request has a filter with an UNKNOWN field")
    if broker.authorizer is None:
        reply(DescribeAclsResponse(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER))
        return None
    return _describe(broker, wanted, reply)


def _describe(
    broker: ControllerParts, wanted: AclFilter, reply: Callable[[DescribeAclsResponse], None]
) -> Iterator[object]:
    found = yield from matching(broker.metadata.image, wanted)
    resources: dict[tuple[int, str, int], DescribeAclsResponse.DescribeAclsResource] = {}
    for _, acl in found:
        pattern = acl.resource_type, acl.resource_name, acl.pattern_type
        if pattern not in resources:
            resources[pattern] = DescribeAclsResponse.DescribeAclsResource(*pattern, acls=[])
        resources[pattern].acls.append(
            DescribeAclsResponse.AclDescription(acl.principal, acl.host, acl.operation, acl.permission)
        )
    reply(DescribeAclsResponse(resources=list(resources.values())))
