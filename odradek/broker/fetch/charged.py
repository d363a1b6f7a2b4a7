"""Charges consumers for the bytes that they fetch.

Owns: the size that is charged, and the answer to a consumer that is over a quota. Never does: comparing with a quota,
sending. Invariant: after an answer without records, the session is as before. Source: ``KafkaApis.handleFetchRequest``,
``FetchResponse.sizeOf``, ``FetchContext.getThrottledResponse``; KIP-219.
"""

from collections.abc import Iterable

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.codec.header import CORRELATION_ID_BYTES, response_encoder, response_header_version
from odradek.protocol.messages.fetch import FetchResponse

from ..dispatch.request import RequestCharge
from .partition_read import PartitionRead
from .session import NO_SESSION_ID, FetchContext, FetchSessionCache


def charged(
    sessions: FetchSessionCache,
    fetch: FetchContext,
    reads: Iterable[PartitionRead],
    response: FetchResponse,
    charge: RequestCharge,
    version: int,
) -> FetchResponse:
    """Charges the client for the response. Returns it, or one without partitions if the client is over a quota."""
    if not charge.fetched(_size(response, version)):
        return response
    for read in reads:
        read.close()
        read.wanted.unsent()
    if fetch.session is not None and not fetch.incremental:
        sessions.discard(fetch.session)
    session_id = fetch.session_id if fetch.incremental else NO_SESSION_ID
    return FetchResponse(session_id=session_id, node_endpoints=response.node_endpoints)


def _size(response: FetchResponse, version: int) -> int:
    """The bytes that are charged: the length field and the body, but not the header."""
    encoded = response_encoder(FetchResponse, version)(response, 0)
    header_bytes = CORRELATION_ID_BYTES + response_header_version(ApiKey.FETCH, version)
    return sum(map(len, encoded)) - header_bytes
