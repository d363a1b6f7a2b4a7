"""CreateAcls (30): answers as a Kafka without an authorizer.

Versions: 0 to 3. 1: pattern types. 2: flexible.
Errors, for each ACL: SECURITY_DISABLED. An ACL with a field that is UNKNOWN closes the connection.
Source: KIP-140, KIP-290; ``AclApis.handleCreateAcls``, ``CreateAclsRequest.validate``.
"""

from collections.abc import Callable

from ...protocol.api_keys import ApiKey
from ...protocol.errors import ErrorCode
from ...protocol.messages.security import CreateAclsRequest, CreateAclsResponse
from ..dispatch.request import ConnectionRefusal, RequestContext
from ..server.broker import Broker
from .describe_acls import UNKNOWN

API_KEY = ApiKey.CREATE_ACLS
NO_AUTHORIZER = "No Authorizer is configured."


def handle(
    _broker: Broker,
    request: CreateAclsRequest,
    _context: RequestContext,
    reply: Callable[[CreateAclsResponse], None],
) -> None:
    """Refuses every ACL. Raises ConnectionRefusal."""
    for acl in request.creations:
        if UNKNOWN in (acl.resource_type, acl.resource_pattern_type, acl.operation, acl.permission_type):
            raise ConnectionRefusal("an ACL to create has a field that is UNKNOWN")
    # One object for all: they are equal, and only encoded.
    refused = CreateAclsResponse.AclCreationResult(ErrorCode.SECURITY_DISABLED, NO_AUTHORIZER)
    reply(CreateAclsResponse(results=[refused] * len(request.creations)))
