"""AddRaftVoter (80): makes a node a voter of the metadata log (KIP-853). A broker that is its own controller refuses.

Versions: 0 to 1. 1: whether the answer waits for the commit.
Errors: INCONSISTENT_CLUSTER_ID, INVALID_REQUEST, DUPLICATE_VOTER, UNSUPPORTED_VERSION.
Source: ``AddVoterHandler``.
"""

from collections.abc import Callable

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.messages.quorum import AddRaftVoterRequest, AddRaftVoterResponse

from ..dispatch.request import RequestContext
from ..metadata.controller.voters import refuse_adding
from .parts import ControllerParts

API_KEY = ApiKey.ADD_RAFT_VOTER


def handle(
    broker: ControllerParts,
    request: AddRaftVoterRequest,
    context: RequestContext,
    reply: Callable[[AddRaftVoterResponse], None],
) -> None:
    """Answers with the error."""
    voter = broker.own_metadata.only_voter
    error = refuse_adding(voter, request.cluster_id, request.voter_id, request.voter_directory_id, request.listeners)
    reply(AddRaftVoterResponse(error_code=error.error_code, error_message=error.message))
