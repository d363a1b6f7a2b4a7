"""AlterConfigs and IncrementalAlterConfigs at a broker of a cluster.

Shell. Owns: the order of the steps. This broker sets its log levels and refuses invalid changes of its own configs, the
controllers decide the rest, and one response holds both. Never does: deciding (``metadata/controller/configs.py`` and
the controllers do). Invariant: the response has the resources of the request in their order. Source:
KafkaApis.handleIncrementalAlterConfigsRequest, ConfigAdminManager.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from odradek.protocol.codec import step_decoder
from odradek.protocol.codec.header import encode_request_steps, response_body_position
from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.configs import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from odradek.protocol.security.acl import AclOperation

from ..dispatch.request_in_service import RequestInService
from ..metadata.controller.configs import preprocess
from ..metadata.controller.controller import Controller
from ..metadata.publisher.decision import ApiError
from ..metadata.publisher.published import PublishedMetadata
from ..metadata.quorum.forwarding import Forwarding

Request = AlterConfigsRequest | IncrementalAlterConfigsRequest
Response = AlterConfigsResponse | IncrementalAlterConfigsResponse
Resource = tuple[int, str]
SetLevels = Callable[[IncrementalAlterConfigsRequest, Iterable[ErrorCode]], None]
"""Sets the log levels that a request asks for. Takes one error code for each resource, and skips those with an
error."""
RESOURCES_A_STEP = 200


class ForwardedConfigs:
    """Handles AlterConfigs and IncrementalAlterConfigs."""

    def __init__(
        self, metadata: PublishedMetadata, controller: Controller, forwarding: Forwarding, set_levels: SetLevels
    ) -> None:
        self._metadata = metadata
        self._set_levels = set_levels
        self._controller = controller
        self._forwarding = forwarding

    def handle(
        self, _broker: Any, request: Request, context: RequestInService, reply: Callable[[Any], None]
    ) -> Steps[None]:
        """Forwards the resources that this broker does not decide itself. ``reply`` and ``context`` are the same
        object."""
        decided = yield from preprocess(
            self._metadata.image, request, self._controller, partial(_may_alter_loggers, context)
        )
        if isinstance(request, IncrementalAlterConfigsRequest):
            self._set_levels(request, (ErrorCode.NONE if error is None else error.code for error in decided))
        left = [resource for resource, error in zip(request.resources, decided, strict=True) if error is None]
        if not left:
            reply((yield from merge(request, decided, {})))
            return
        forwarded = type(request)(left, request.validate_only)  # type: ignore[arg-type] # of its own class
        version = context.api_version
        frame = yield from encode_request_steps(forwarded, version, 0, context.client_id)

        def answered(response: bytes | KafkaError) -> None:
            if not context.is_wanted():
                return
            if not isinstance(response, KafkaError):
                context.run_steps(request, self._merge(request, decided, response, context))
            elif response.error_code is ErrorCode.UNSUPPORTED_VERSION:
                context.refuse("the active controller does not support this version")
            else:
                context.fail(request, response)

        self._forwarding.forward(frame[4:], context.requester, answered)

    def _merge(
        self, request: Request, decided: Sequence[ApiError | None], answer: bytes, context: RequestInService
    ) -> Steps[None]:
        version = context.api_version
        decoding = step_decoder(response_class(request), version)
        response, _ = yield from decoding(answer, response_body_position(request.API_KEY, version, answer))
        theirs = {
            (resource.resource_type, resource.resource_name): ApiError(resource.error_code, resource.error_message)
            for resource in response.responses
        }
        context((yield from merge(request, decided, theirs)))


def _may_alter_loggers(context: RequestInService) -> bool:
    """Whether the client may change log levels. This broker checks that itself: the controllers have no loggers."""
    return context.access is None or context.access.cluster(AclOperation.ALTER_CONFIGS)


def response_class(request: Request) -> type[AlterConfigsResponse] | type[IncrementalAlterConfigsResponse]:
    """The class of the response to a request."""
    return AlterConfigsResponse if isinstance(request, AlterConfigsRequest) else IncrementalAlterConfigsResponse


def merge(request: Request, decided: Sequence[ApiError | None], theirs: Mapping[Resource, ApiError]) -> Steps[Response]:
    """The response: for each resource the decision of this broker, or else that of the controllers.

    Source: ConfigAdminManager.reassembleIncrementalResponse.
    """
    missing = ApiError.of(ErrorCode.UNKNOWN_SERVER_ERROR)
    response = response_class(request)()
    resources: Sequence[Any] = request.resources
    for count, (resource, own) in enumerate(zip(resources, decided, strict=True), 1):
        kind, name = resource.resource_type, resource.resource_name
        error = own if own is not None else theirs.get((kind, name), missing)
        response.responses.append(response.AlterConfigsResourceResponse(error.code, error.message, kind, name))  # type: ignore[arg-type]
        if not count % RESOURCES_A_STEP:
            yield
    return response
