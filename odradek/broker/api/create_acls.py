"""CreateAcls (30): creates ACLs, which are in effect before the answer is sent.

Versions: 0 to 3. 1: pattern types. 2: flexible.
Errors, for each ACL: SECURITY_DISABLED (no authorizer), CLUSTER_AUTHORIZATION_FAILED, INVALID_REQUEST (an empty
resource name, a cluster resource with a name other than ``kafka-cluster``, a principal without a colon, an empty host,
a malformed range of addresses), UNSUPPORTED_VERSION (a range of addresses below metadata.version 4.4-IV1),
UNKNOWN_SERVER_ERROR (for all ACLs of the request, if one of them has ANY or MATCH, which are for filters only),
POLICY_VIOLATION (more than 10,000). An ACL with a field of value UNKNOWN closes the connection.
Source: KIP-140, KIP-290; ``AclApis.handleCreateAcls``, ``CreateAclsRequest.validate``, ``AclControlManager``.
"""

from collections.abc import Callable

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.security import CreateAclsRequest, CreateAclsResponse
from odradek.protocol.security.acl import AclOperation, AclPermission, AclResourceType, PatternType

from ..dispatch.request import ConnectionRefusal, RequestContext
from ..metadata.controller.acls import create_acls
from .describe_acls import UNKNOWN
from .parts import ControllerParts

API_KEY = ApiKey.CREATE_ACLS
NO_AUTHORIZER = "No Authorizer is configured."


def handle(
    broker: ControllerParts,
    request: CreateAclsRequest,
    context: RequestContext,
    reply: Callable[[CreateAclsResponse], None],
) -> None:
    """Decides and writes the metadata records in slices, after earlier metadata changes are done, then answers.

    Raises ConnectionRefusal for an ACL with an UNKNOWN field.
    """
    for acl in request.creations:
        if UNKNOWN in (acl.resource_type, acl.resource_pattern_type, acl.operation, acl.permission_type):
            raise ConnectionRefusal("a CreateAcls request has an ACL with an UNKNOWN field")
    if broker.authorizer is None:
        reply(_refused(request, KafkaError(ErrorCode.SECURITY_DISABLED, NO_AUTHORIZER)))
        return
    if any(map(_is_for_filters_only, request.creations)):
        reply(_refused(request, KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)))
        return
    metadata = broker.own_metadata

    def answer(outcome: CreateAclsResponse | KafkaError) -> None:
        reply(_refused(request, outcome) if isinstance(outcome, KafkaError) else outcome)

    metadata.change(lambda: create_acls(metadata.image, request, broker.controller), context.now_ms, answer)


def _is_for_filters_only(acl: CreateAclsRequest.AclCreation) -> bool:
    return (
        acl.resource_type == AclResourceType.ANY
        or acl.resource_pattern_type in (PatternType.ANY, PatternType.MATCH)
        or acl.operation == AclOperation.ANY
        or acl.permission_type == AclPermission.ANY
    )


def _refused(request: CreateAclsRequest, error: KafkaError) -> CreateAclsResponse:
    # The results are equal and only encoded, so all entries are one object.
    refused = CreateAclsResponse.AclCreationResult(error.error_code, error.message)
    return CreateAclsResponse(results=[refused] * len(request.creations))
