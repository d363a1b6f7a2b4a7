"""DeleteAcls (31): deletes the ACLs that match filters. They stop having effect before the answer is sent.

Versions: 0 to 3. 1: pattern types. 2: flexible.
Errors, for each filter: SECURITY_DISABLED (no authorizer), CLUSTER_AUTHORIZATION_FAILED, INVALID_REQUEST (more than
10,000 ACLs). A filter with a field of value UNKNOWN closes the connection.
Source: KIP-140, KIP-290; ``AclApis.handleDeleteAcls``, ``DeleteAclsRequest.normalizeAndValidate``,
``AclControlManager``.
"""

from collections.abc import Callable

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.security import DeleteAclsRequest, DeleteAclsResponse

from ..dispatch.request import ConnectionRefusal, RequestContext
from ..metadata.controller.acls import delete_acls
from .create_acls import NO_AUTHORIZER
from .describe_acls import UNKNOWN
from .parts import ControllerParts

API_KEY = ApiKey.DELETE_ACLS


def handle(
    broker: ControllerParts,
    request: DeleteAclsRequest,
    context: RequestContext,
    reply: Callable[[DeleteAclsResponse], None],
) -> None:
    """Decides and writes the metadata records in slices, after earlier metadata changes are done, then answers.

    Raises ConnectionRefusal for a filter with an UNKNOWN field.
    """
    for binding_filter in request.filters:
        if UNKNOWN in (
            binding_filter.resource_type_filter,
            binding_filter.pattern_type_filter,
            binding_filter.operation,
            binding_filter.permission_type,
        ):
            raise ConnectionRefusal("a DeleteAcls request has a filter with an UNKNOWN field")
    if broker.authorizer is None:
        reply(_refused(request, KafkaError(ErrorCode.SECURITY_DISABLED, NO_AUTHORIZER)))
        return
    metadata = broker.own_metadata

    def answer(outcome: DeleteAclsResponse | KafkaError) -> None:
        reply(_refused(request, outcome) if isinstance(outcome, KafkaError) else outcome)

    metadata.change(lambda: delete_acls(metadata.image, request, broker.controller), context.now_ms, answer)


def _refused(request: DeleteAclsRequest, error: KafkaError) -> DeleteAclsResponse:
    # The results are equal and only encoded, so all entries are one object.
    refused = DeleteAclsResponse.DeleteAclsFilterResult(error.error_code, error.message)
    return DeleteAclsResponse(filter_results=[refused] * len(request.filters))
