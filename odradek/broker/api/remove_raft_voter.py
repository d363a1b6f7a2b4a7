"""RemoveRaftVoter (81): makes a voter of the metadata log an observer (KIP-853). The only voter stays.

Versions: 0.
Errors: INCONSISTENT_CLUSTER_ID, INVALID_REQUEST, VOTER_NOT_FOUND, UNSUPPORTED_VERSION.
Source: ``RemoveVoterHandler``.
"""

from collections.abc import Callable

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.messages.quorum import RemoveRaftVoterRequest, RemoveRaftVoterResponse

from ..dispatch.request import RequestContext
from ..metadata.controller.voters import refuse_removing
from .parts import ControllerParts

API_KEY = ApiKey.REMOVE_RAFT_VOTER


def handle(
    broker: ControllerParts,
    request: RemoveRaftVoterRequest,
    context: RequestContext,
    reply: Callable[[RemoveRaftVoterResponse], None],
) -> None:
    """Answers with the error."""
    voter = broker.own_metadata.only_voter
    error = refuse_removing(voter, request.cluster_id, request.voter_id, request.voter_directory_id)
    reply(RemoveRaftVoterResponse(error_code=error.error_code, error_message=error.message))
