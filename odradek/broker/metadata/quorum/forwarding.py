"""Forwards requests that only controllers can answer: unchanged, in an Envelope (KIP-590).

Shell. Owns: the queue of requests for the active controller. Never does: decoding what it forwards. Invariants: one
request is in flight; each is answered once, after 60 s at the latest; the queue is bounded; it serves the clients'
addresses in turn, so that one with many connections does not delay the others. Source: ForwardingManager,
EnvelopeUtils, NodeToControllerChannelManager.
"""

import asyncio
import ipaddress
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from odradek.protocol.apis.api_keys import api
from odradek.protocol.codec import encode
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.quorum import EnvelopeRequest, EnvelopeResponse
from odradek.protocol.messages.security import DefaultPrincipalData
from odradek.protocol.messages.topics import CreateTopicsRequest, CreateTopicsResponse

from ...network.node_client import NodeLoginError, NodeUnavailableError
from ...timers.repeated_complaint import RepeatedComplaint
from ..publisher.controller_link import Requester
from .channel import RETRY_MS, ControllerChannel, described
from .fair_queue import FairQueue
from .forwarded_apis import FORWARDED

VERSION = 0
CACHED = 256
"""The number of cached principals: few change metadata."""


@lru_cache(CACHED)
def serialized(principal: str, by_token: bool) -> bytes:
    """The bytes of a principal ``Type:name``: the version, then DefaultPrincipalData.

    ``by_token``: the client was authenticated with a delegation token, and may not create another one.
    """
    kind, _, name = principal.partition(":")
    return VERSION.to_bytes(2, "big") + encode(DefaultPrincipalData(kind, name, by_token), VERSION)


CONNECT_TIMEOUT_S = 2.0
REQUEST_TIMEOUT_S = 30.0
"""``controller.socket.timeout.ms``: for the request itself, and for each step before it on a new connection."""
GIVE_UP_S = 60.0
"""The channel's ``retryTimeoutMs`` in BrokerServer."""
MAX_WAITING = 500
"""As ``queued.max.requests``. A controller takes 31 ms for a change, so it serves about four times as many in 60 s."""
MAX_WAITING_BYTES = 64 << 20
OWN = "this broker"
"""The name under which this broker's own requests are queued; for clients, it is their address."""
TOPICS_VERSION = 7
OVERLOADED = "Too many requests wait for the active controller."

Answered = Callable[[bytes | KafkaError], None]


class Pending(NamedTuple):
    """A queued request, its deadline (monotonic clock, in seconds), and the callback that gets the answer.

    ``answered`` gets the bytes of the response in the Envelope, the response to this broker's own request, or
    KafkaError.
    """

    request: EnvelopeRequest | CreateTopicsRequest
    until_s: float
    answered: Callable[[Any], None]


class Forwarding:
    """Forwards requests to the active controller, one at a time."""

    def __init__(self, channel: ControllerChannel, time_s: Callable[[], float] = time.monotonic) -> None:
        """``time_s``: a monotonic clock, in seconds."""
        self._channel = channel
        self._time_s = time_s
        self._overload = RepeatedComplaint("requests for the controllers are refused", time_s)
        self._refused = RepeatedComplaint("could not forward requests of clients to the controllers", time_s)
        self._waiting: FairQueue[Pending] = FairQueue(MAX_WAITING, MAX_WAITING_BYTES)
        self._arrived = asyncio.Event()
        self.knows_versions = asyncio.Event()
        """Set once the API versions of the controllers are known."""

    def forward(self, frame: bytes, requester: Requester, answered: Answered) -> None:
        """Forwards a request's header and body. ``answered`` gets the response's header and body, or KafkaError:
        REQUEST_TIMED_OUT, UNSUPPORTED_VERSION, UNKNOWN_SERVER_ERROR.

        The controllers decide what the requester may do. If the queue is full, the newest requests of the address with
        the most queued get REQUEST_TIMED_OUT, which clients retry.
        """
        address = ipaddress.ip_address(requester.host.partition("%")[0]).packed
        envelope = EnvelopeRequest(frame, serialized(requester.principal, requester.by_token), address)
        self._put(requester.host, envelope, len(frame), answered)

    def create_topics(
        self, request: CreateTopicsRequest, answered: Callable[[CreateTopicsResponse | KafkaError], None]
    ) -> None:
        """Creates topics that this broker needs itself, with its own rights. ``answered`` as for :meth:`forward`."""
        self._put(OWN, request, 0, answered)

    def _put(
        self, client: str, request: EnvelopeRequest | CreateTopicsRequest, size: int, answered: Callable[[Any], None]
    ) -> None:
        pending = Pending(request, self._time_s() + GIVE_UP_S, answered)
        for dropped in self._waiting.put(client, pending, size):
            self._overload.complain(f"{len(self._waiting)} requests with {self._waiting.size} bytes wait")
            dropped.answered(KafkaError(ErrorCode.REQUEST_TIMED_OUT, OVERLOADED))
        self._arrived.set()

    def versions(self) -> dict[int, tuple[int, int]]:
        """The forwarded APIs that both this broker and the controllers know, with their versions."""
        both: dict[int, tuple[int, int]] = {}
        for api_key in FORWARDED & self._channel.versions.keys():
            lowest, highest = api(api_key).stable_versions
            theirs = self._channel.versions[api_key]
            if max(lowest, theirs[0]) <= min(highest, theirs[1]):
                both[api_key] = max(lowest, theirs[0]), min(highest, theirs[1])
        return both

    async def run(self) -> None:
        """Forwards requests until it is cancelled."""
        try:
            await self._learn_versions()
            while True:
                await self._arrived.wait()
                while self._waiting:
                    pending = self._waiting.pop()
                    try:
                        outcome = await self._outcome(pending)
                    except Exception:  # a bug: nothing else would answer the client
                        pending.answered(KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR))
                        raise
                    pending.answered(outcome)
                self._overload.resolved()
                self._arrived.clear()
        finally:
            self._channel.close()

    async def _learn_versions(self) -> None:
        while not self.knows_versions.is_set():
            try:
                await self._channel.connect(CONNECT_TIMEOUT_S)
            except NodeUnavailableError:
                await asyncio.sleep(RETRY_MS / 1000)
            else:
                self.knows_versions.set()

    async def _outcome(self, pending: Pending) -> bytes | CreateTopicsResponse | KafkaError:
        while (left_s := pending.until_s - self._time_s()) > 0:
            timeout_s = min(REQUEST_TIMEOUT_S, left_s)
            try:
                async with asyncio.timeout(left_s):
                    if isinstance(pending.request, EnvelopeRequest):
                        return self._unwrapped(await self._channel.send(pending.request, EnvelopeResponse, timeout_s))
                    created = await self._channel.send(pending.request, CreateTopicsResponse, timeout_s, TOPICS_VERSION)
                if all(topic.error_code != ErrorCode.NOT_CONTROLLER for topic in created.topics):
                    return created
            except NodeLoginError as error:
                self._refused.complain(error)
                return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
            except (NodeUnavailableError, TimeoutError):
                pass
            await asyncio.sleep(RETRY_MS / 1000)
        return KafkaError(ErrorCode.REQUEST_TIMED_OUT)

    def _unwrapped(self, response: EnvelopeResponse) -> bytes | KafkaError:
        """The response in an Envelope. An error of the Envelope itself is this broker's fault, not its client's."""
        if response.error_code == ErrorCode.UNSUPPORTED_VERSION:
            return KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        if response.error_code or response.response_data is None:
            self._refused.complain(described(response.error_code))
            return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        self._refused.resolved()
        return bytes(response.response_data)
