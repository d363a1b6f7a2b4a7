"""Client requests that a broker forwards in an Envelope: decodes them, and answers with the broker's own handlers.

The handlers are those of a broker that is its own controller. Shell. Owns: the table of the APIs that may be forwarded.
Never does: deciding. Source: EnvelopeUtils, ControllerApis; KIP-590.
"""

import asyncio
from collections.abc import Sized

from odradek.broker.dispatch.request import RequestContext
from odradek.broker.dispatch.served import handler, served_versions
from odradek.broker.metadata.quorum.forwarded_apis import FORWARDED
from odradek.protocol.apis.api_keys import ApiKey, api
from odradek.protocol.codec import decode
from odradek.protocol.codec.header import decode_request_header, encode_response_parts
from odradek.protocol.common.wall_clock import clock_ms
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.quorum import EnvelopeRequest, EnvelopeResponse
from odradek.protocol.messages.structure import Message
from odradek.protocol.messages.topics import CreateTopicsRequest, CreateTopicsResponse

from .active_controller import ActiveController

NOT_ANSWERED: frozenset[int] = frozenset(
    {ApiKey.UPDATE_FEATURES, ApiKey.UNREGISTER_BROKER, ApiKey.UNREGISTER_CONTROLLER}
    | {ApiKey.ADD_RAFT_VOTER, ApiKey.REMOVE_RAFT_VOTER}
)
IN_ENVELOPES = FORWARDED - NOT_ANSWERED
"""The APIs whose requests are answered in an Envelope."""
ADDRESS_BYTES = (4, 16)


async def answer_envelope(controller: ActiveController, request: EnvelopeRequest) -> EnvelopeResponse:
    """Envelope: the response to the request inside, or an error of the Envelope itself."""
    refusal = _refusal(request.client_host_address)
    if refusal is not None:
        return refusal
    frame = bytes(request.request_data)
    header, position = decode_request_header(frame)
    api_key, version = header.request_api_key, header.request_api_version
    if api_key not in IN_ENVELOPES:
        return EnvelopeResponse(error_code=ErrorCode.INVALID_REQUEST)
    lowest, highest = served_versions(api_key)
    if not lowest <= version <= highest:
        return EnvelopeResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    body, _ = decode(api(api_key).request_class(), version, frame, position)
    context = RequestContext(api_key, version, header.client_id, "", "CONTROLLER", 0, clock_ms())
    response = await _answered(controller, body, context)
    parts = encode_response_parts(response, version, header.correlation_id)
    return EnvelopeResponse(response_data=b"".join(map(bytes, parts))[4:])


async def answer_create_topics(controller: ActiveController, request: CreateTopicsRequest) -> CreateTopicsResponse:
    """CreateTopics that a broker sends on its own behalf, to create a topic when it is first used."""
    version = CreateTopicsRequest.VERSIONS[1]
    context = RequestContext(ApiKey.CREATE_TOPICS, version, None, "", "CONTROLLER", 0, clock_ms())
    response = await _answered(controller, request, context)
    assert isinstance(response, CreateTopicsResponse)
    return response


def _refusal(address: Sized) -> EnvelopeResponse | None:
    if len(address) not in ADDRESS_BYTES:
        return EnvelopeResponse(error_code=ErrorCode.INVALID_REQUEST)
    return None


async def _answered(controller: ActiveController, body: Message, context: RequestContext) -> Message:
    answered: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
    steps = handler(context.api_key)(controller, body, context, answered.set_result)
    for _ in steps or ():
        pass
    return await answered
