"""AlterUserScramCredentials (51): sets or deletes SCRAM credentials of users.

The changes are in effect before the answer is sent.

Versions: 0.
Errors, for each user: CLUSTER_AUTHORIZATION_FAILED, UNACCEPTABLE_CREDENTIAL (no name, too few or too many iterations),
UNSUPPORTED_SASL_MECHANISM, RESOURCE_NOT_FOUND (nothing to delete), DUPLICATE_RESOURCE (named twice),
UNSUPPORTED_VERSION (``metadata.version`` is too old).
Source: KIP-554; ``ControllerApis.handleAlterUserScramCredentials``, ``ScramControlManager``.
"""

from collections.abc import Callable

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.security import AlterUserScramCredentialsRequest, AlterUserScramCredentialsResponse

from ..dispatch.error_responses import error_response
from ..dispatch.request import RequestContext
from ..metadata.controller.scram import alter_scram_credentials
from .parts import ControllerParts

API_KEY = ApiKey.ALTER_USER_SCRAM_CREDENTIALS


def handle(
    broker: ControllerParts,
    request: AlterUserScramCredentialsRequest,
    context: RequestContext,
    reply: Callable[[AlterUserScramCredentialsResponse], None],
) -> None:
    """Decides and writes the metadata records in slices, after earlier metadata changes are done, then answers."""
    metadata = broker.own_metadata

    def answer(outcome: AlterUserScramCredentialsResponse | KafkaError) -> None:
        if isinstance(outcome, KafkaError):
            refused = error_response(API_KEY, context.api_version, request, outcome.error_code)
            assert isinstance(refused, AlterUserScramCredentialsResponse)
            reply(refused)
        else:
            reply(outcome)

    metadata.change(lambda: alter_scram_credentials(metadata.image, request), context.now_ms, answer)
