"""DeleteAcls (31): answers as a Kafka without an authorizer.

Versions: 0 to 3. 1: pattern types. 2: flexible.
Errors, for each filter: SECURITY_DISABLED. A filter with a field that is UNKNOWN closes the connection.
Source: KIP-140, KIP-290; ``AclApis.handleDeleteAcls``, ``DeleteAclsRequest.normalizeAndValidate``.
"""

from collections.abc import Callable

from ...protocol.api_keys import ApiKey
from ...protocol.errors import ErrorCode
from ...protocol.messages.security import DeleteAclsRequest, DeleteAclsResponse
from ..dispatch.request import ConnectionRefusal, RequestContext
from ..server.broker import Broker
from .create_acls import NO_AUTHORIZER
from .describe_acls import UNKNOWN

API_KEY = ApiKey.DELETE_ACLS


def handle(
    _broker: Broker,
    request: DeleteAclsRequest,
    _context: RequestContext,
    reply: Callable[[DeleteAclsResponse], None],
) -> None:
    """Refuses every filter. Raises ConnectionRefusal."""
    for one in request.filters:
        if UNKNOWN in (one.resource_type_filter, one.pattern_type_filter, one.operation, one.permission_type):
            raise ConnectionRefusal("a DeleteAcls filter has a field that is UNKNOWN")
    # One object for all: they are equal, and only encoded.
    refused = DeleteAclsResponse.DeleteAclsFilterResult(ErrorCode.SECURITY_DISABLED, NO_AUTHORIZER)
    reply(DeleteAclsResponse(filter_results=[refused] * len(request.filters)))
