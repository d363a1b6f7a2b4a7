"""UpdateFeatures (57): raises or lowers the finalised levels of features.

Versions: 0 to 2. 1: kinds of downgrades, and requests that are only checked. 2: an answer without results.
Errors: INVALID_UPDATE_VERSION (an unsupported level, a downgrade that is not asked for or that may lose metadata).
Source: KIP-584; ``QuorumController.updateFeatures``, ``FeatureControlManager``.
"""

from collections.abc import Callable

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.quorum import UpdateFeaturesRequest, UpdateFeaturesResponse

from ..dispatch.request import RequestContext
from ..metadata.controller.feature_updates import update_features
from .parts import ControllerParts

API_KEY = ApiKey.UPDATE_FEATURES


def handle(
    broker: ControllerParts,
    request: UpdateFeaturesRequest,
    context: RequestContext,
    reply: Callable[[UpdateFeaturesResponse], None],
) -> None:
    """Decides and writes the metadata records after earlier metadata changes are done, then answers."""
    metadata = broker.own_metadata

    def answer(outcome: UpdateFeaturesResponse | KafkaError) -> None:
        if isinstance(outcome, KafkaError):
            outcome = UpdateFeaturesResponse(error_code=outcome.error_code, error_message=outcome.message)
        reply(outcome)

    metadata.change(
        lambda: update_features(
            metadata.image, broker.controller, metadata.log.kraft_version, request, context.api_version
        ),
        context.now_ms,
        answer,
    )
