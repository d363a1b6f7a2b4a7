"""DescribeAcls (29): answers as a Kafka without an authorizer.

Versions: 0 to 3. 1: pattern types. 2: flexible.
Errors: SECURITY_DISABLED. A filter with a field that is UNKNOWN closes the connection.
Source: KIP-140, KIP-290; ``AclApis.handleDescribeAcls``, ``DescribeAclsRequest.normalizeAndValidate``.
"""

from collections.abc import Callable

from ...protocol.api_keys import ApiKey
from ...protocol.errors import ErrorCode
from ...protocol.messages.security import DescribeAclsRequest, DescribeAclsResponse
from ..dispatch.request import ConnectionRefusal, RequestContext
from ..server.broker import Broker

API_KEY = ApiKey.DESCRIBE_ACLS
UNKNOWN = 0
"""The code of UNKNOWN in ``ResourceType``, ``PatternType``, ``AclOperation`` and ``AclPermissionType``."""
NO_AUTHORIZER = "No Authorizer is configured on the broker"


def handle(
    _broker: Broker,
    request: DescribeAclsRequest,
    _context: RequestContext,
    reply: Callable[[DescribeAclsResponse], None],
) -> None:
    """Refuses the request, since without an authorizer there are no ACLs. Raises ConnectionRefusal."""
    if UNKNOWN in (
        request.resource_type_filter,
        request.pattern_type_filter,
        request.operation,
        request.permission_type,
    ):
        raise ConnectionRefusal("a DescribeAcls filter has a field that is UNKNOWN")
    reply(DescribeAclsResponse(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER))
