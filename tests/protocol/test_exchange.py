"""The client's side of a connection, without a socket: random peers, cuts, refusals and times."""

import random
from collections import deque
from itertools import count
from math import inf
from typing import Any

import pytest

from odradek.protocol.apis.api_keys import ApiKey, api
from odradek.protocol.codec import decode
from odradek.protocol.codec.header import decode_request_header, encode_response_parts
from odradek.protocol.errors import ErrorCode, LoginRefusedError, ProtocolError
from odradek.protocol.exchange import Exchange, NoCommonVersionError, ResponseLimits
from odradek.protocol.framing.frames import FrameReader, Frames
from odradek.protocol.messages.fetch import FetchRequest, FetchResponse
from odradek.protocol.messages.metadata import ApiVersionsRequest, ApiVersionsResponse, MetadataRequest
from odradek.protocol.messages.produce import ProduceRequest
from odradek.protocol.messages.security import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from odradek.protocol.messages.structure import Message
from odradek.protocol.security.login_mechanisms import PlainLogin
from support.each import each

PEER = ResponseLimits(10_000_000, 1024, Frames(lambda size, limit: f"{size} of {limit} bytes", 4096))
TIMEOUT_S = 30.0
VERSION = 12
"""Of Fetch."""
SERVED = {
    ApiKey.API_VERSIONS: (0, 5),
    ApiKey.FETCH: (4, VERSION),
    ApiKey.SASL_HANDSHAKE: (1, 1),
    ApiKey.SASL_AUTHENTICATE: (0, 2),
}


class FakeBroker:
    """Answers what an exchange sends, but no Produce. The response to a Fetch has ``max_wait_ms`` bytes of records."""

    def __init__(self, known: int = 5, lifetime_ms: int = 0, login_error: int = 0) -> None:
        """``known``: the highest version of ApiVersions that it does not refuse."""
        self.received: list[Message] = []
        self._known = known
        self._lifetime_ms = lifetime_ms
        self._login_error = login_error
        self._frames = FrameReader(1_000_000)

    def answers(self, data: bytes) -> list[bytes]:
        """The frames of the responses to all requests in ``data``."""
        return list(filter(None, (self._answer(bytes(frame)) for frame in self._frames.feed(memoryview(data)))))

    def _answer(self, frame: bytes) -> bytes | None:
        header, position = decode_request_header(frame)
        version = header.request_api_version
        if header.request_api_key == ApiKey.API_VERSIONS and version > self._known:
            return response(self._versions(ErrorCode.UNSUPPORTED_VERSION), 0, header.correlation_id)
        request, _ = decode(api(header.request_api_key).request_class(), version, frame, position)
        self.received.append(request)
        if isinstance(request, ProduceRequest):
            return None
        return response(self._response(request), version, header.correlation_id)

    def _response(self, request: Message) -> Message:
        if isinstance(request, ApiVersionsRequest):
            return self._versions()
        if isinstance(request, SaslHandshakeRequest):
            return SaslHandshakeResponse(0, [request.mechanism])
        if isinstance(request, SaslAuthenticateRequest):
            return SaslAuthenticateResponse(self._login_error, None, b"", self._lifetime_ms)
        assert isinstance(request, FetchRequest)
        return fetched(request.max_wait_ms)

    def _versions(self, error: int = 0) -> ApiVersionsResponse:
        served = {**SERVED, ApiKey.API_VERSIONS: (0, self._known)}
        return ApiVersionsResponse(error, [ApiVersionsResponse.ApiVersion(key, *span) for key, span in served.items()])


def response(message: Message, version: int, correlation_id: int) -> bytes:
    return b"".join(bytes(part) for part in encode_response_parts(message, version, correlation_id))


def fetched(size: int) -> FetchResponse:
    data = FetchResponse.PartitionData(records=bytes([size & 0xFF]) * size)
    return FetchResponse(responses=[FetchResponse.FetchableTopicResponse("t", partitions=[data])])


def receive(exchange: Exchange, data: bytes, now_s: float = 0.0) -> list[tuple[Any, Any]]:
    """Receives bytes as a connection does: as many as the target has room for."""
    outcomes: list[tuple[Any, Any]] = []
    view = memoryview(data)
    while view:
        target = exchange.target()
        size = min(len(target), len(view))
        target[:size] = view[:size]
        outcomes += exchange.received(size, now_s)
        view = view[size:]
    return outcomes


def run(exchange: Exchange, broker: FakeBroker, now_s: float = 0.0) -> list[tuple[Any, Any]]:
    """Passes bytes between the two until neither sends any more; returns the outcomes."""
    outcomes: list[tuple[Any, Any]] = []
    while exchange.unsent:
        outcomes += receive(exchange, b"".join(broker.answers(exchange.take_unsent())), now_s)
    return outcomes


def opened(broker: FakeBroker, **settings: Any) -> Exchange:
    exchange = Exchange("me", PEER, **settings)
    exchange.negotiate("open", TIMEOUT_S, 0.0)
    assert run(exchange, broker) == [("open", None)]
    return exchange


def fetch(exchange: Exchange, token: object, size: int = 0, timeout_s: float = TIMEOUT_S, now_s: float = 0.0) -> None:
    exchange.request(FetchRequest(max_wait_ms=size), VERSION, FetchResponse, token, timeout_s, now_s)


def log_in(exchange: Exchange, chance: float = 0.0, now_s: float = 0.0) -> None:
    exchange.log_in(PlainLogin("ann", "secret"), "host:1", chance, "login", TIMEOUT_S, now_s)


def sizes(broker: FakeBroker) -> list[int]:
    """The sizes that the requests which reached the broker asked for."""
    return [request.max_wait_ms for request in broker.received if isinstance(request, FetchRequest)]


class Connection:
    """A random run of one connection: requests, cut bytes, renewals of the login, as the seed has it."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.broker = FakeBroker(known=self.chance.randrange(5), lifetime_ms=self.chance.choice([0, 1_000]))
        self.has_login = self.chance.random() < 0.5
        self.exchange = Exchange("me", PEER, has_login=self.has_login)
        self.on_the_way = bytearray()
        self.now_s = 0.0
        self.outcomes: list[tuple[Any, Any]] = []
        self.asked: deque[tuple[int, int]] = deque()
        self.numbers = count()

    def move(self) -> None:
        """Some bytes arrive, time passes, and perhaps a request is sent."""
        self.now_s += self.chance.random() * 0.2
        if self.chance.random() < 0.4:
            number, size = next(self.numbers), self.chance.choice([0, 1, 50, 1000, 5_000, 70_000])
            self.asked.append((number, size))
            if self.exchange.is_renewal_due(self.now_s):
                self.exchange.hold()
                self.log_in()
            fetch(self.exchange, number, size, now_s=self.now_s)
        self.pass_bytes(self.chance.choice([1, 2, 3, 5, 100, 5_000, 100_000]))

    def log_in(self) -> None:
        log_in(self.exchange, self.chance.random(), self.now_s)

    def pass_bytes(self, most: int) -> None:
        self.on_the_way += b"".join(self.broker.answers(self.exchange.take_unsent()))
        part = bytes(self.on_the_way[:most])
        del self.on_the_way[:most]
        for token, outcome in receive(self.exchange, part, self.now_s):
            if token == "open" and self.has_login:
                self.log_in()
            self.outcomes.append((token, outcome))
        assert self.exchange.failure is None

    def run(self) -> None:
        self.exchange.negotiate("open", TIMEOUT_S, self.now_s)
        while ("open", None) not in self.outcomes:
            self.pass_bytes(self.chance.randrange(1, 9))
        for _ in range(60):
            self.move()
        while self.on_the_way or self.exchange.unsent:
            self.pass_bytes(1_000)


@each("seed", range(200))
def test_each_request_gets_its_own_response(seed: int) -> None:
    """However the bytes are cut, whichever version of ApiVersions the peer knows, and also while a login is renewed."""
    connection = Connection(seed)
    connection.run()
    fetches = [(token, outcome) for token, outcome in connection.outcomes if isinstance(token, int)]
    assert [(number, fetched(size)) for number, size in connection.asked] == fetches, f"seed {seed}"
    logins = [type(request) for request in connection.broker.received].count(SaslHandshakeRequest)
    assert connection.outcomes.count(("login", None)) == logins
    assert (logins > 0) == connection.has_login
    assert connection.exchange.abandon() == []


@each("seed", range(50))
def test_response_out_of_order_is_a_failure(seed: int) -> None:
    """Those before it reach their requests, and the others stay pending."""
    chance = random.Random(seed)
    broker = FakeBroker()
    exchange = opened(broker)
    total = chance.randrange(2, 8)
    for number in range(total):
        fetch(exchange, number, size=10)
    answers = broker.answers(exchange.take_unsent())
    first, second = sorted(chance.sample(range(total), 2))
    answers[first], answers[second] = answers[second], answers[first]
    assert receive(exchange, b"".join(answers)) == [(number, fetched(10)) for number in range(first)]
    text = f"Fetch {first + 1} got an answer to {second + 1} (header)"
    assert str(exchange.failure) == text
    assert exchange.abandon() == list(range(first, total))
    assert exchange.abandon() == []


@pytest.mark.parametrize(
    ("data", "asks", "text"),
    [
        (bytes([0, 0, 0, 4, 0, 0, 0, 9]), True, "Fetch 1 got an answer to 9 (header)"),
        (bytes([0, 0, 0, 4, 0, 0, 0, 1]), False, "a response arrived that no request waits for (correlation id)"),
        (bytes([0, 0, 0, 2, 0, 0]), True, "a response of 2 bytes arrived"),
        (b"HTTP/1.1 400", True, "1213486160 of 10000000 bytes"),
        (b"\xff\xff\xff\xff", True, "-1 of 10000000 bytes"),
    ],
    ids=["wrong id", "unasked", "short", "other protocol", "negative"],
)
def test_bytes_that_are_no_response_are_a_failure(data: bytes, asks: bool, text: str) -> None:
    for cut in range(len(data)):
        exchange = opened(FakeBroker())
        if asks:
            fetch(exchange, "token")
        assert receive(exchange, data[:cut]) + receive(exchange, data[cut:]) == []
        assert str(exchange.failure) == text
        assert exchange.abandon() == ["token"] * asks


def test_malformed_response_keeps_its_request_pending() -> None:
    exchange = opened(FakeBroker())
    fetch(exchange, "token")
    assert receive(exchange, bytes([0, 0, 0, 6, 0, 0, 0, 1, 0, 0])) == []
    assert isinstance(exchange.failure, ProtocolError)
    assert exchange.abandon() == ["token"]


@pytest.mark.parametrize("known", range(6))
def test_peer_that_does_not_know_our_api_versions_is_asked_again(known: int) -> None:
    exchange = opened(FakeBroker(known))
    assert exchange.versions == {**SERVED, ApiKey.API_VERSIONS: (0, known)}
    assert exchange.answered == exchange.negotiated == (1 if known == 5 else 2)


def refused(code: int, known: list[int]) -> tuple[list[int], Exception]:
    """Negotiates with a peer that always answers this error and these versions of ApiVersions.

    Returns the versions that it was asked in, and the outcome.
    """
    exchange = Exchange("me", PEER)
    exchange.negotiate("open", TIMEOUT_S, 0.0)
    keys = [ApiVersionsResponse.ApiVersion(ApiKey.API_VERSIONS, 0, version) for version in known]
    asked: list[int] = []
    outcomes: list[tuple[Any, Any]] = []
    while not outcomes:
        version = int.from_bytes(exchange.take_unsent()[6:8], "big")
        layout = 0 if code == ErrorCode.UNSUPPORTED_VERSION else version
        outcomes = receive(exchange, response(ApiVersionsResponse(code, keys), layout, len(asked)))
        assert exchange.failure is None
        asked.append(version)
    ((token, error),) = outcomes
    assert token == "open"
    assert isinstance(error, Exception)
    return asked, error


def test_negotiation_ends_if_every_version_is_refused() -> None:
    """Also if the peer names the refused version as known."""
    asked, error = refused(ErrorCode.UNSUPPORTED_VERSION, [5])
    assert asked == [5, 4, 3, 2, 1, 0]
    assert isinstance(error, NoCommonVersionError)
    assert str(error) == "the broker refuses every version of ApiVersions"
    assert refused(ErrorCode.UNSUPPORTED_VERSION, [])[0] == [5, 0]


def test_other_error_ends_the_negotiation() -> None:
    asked, error = refused(ErrorCode.INVALID_REQUEST, [])
    assert (asked, str(error)) == ([5], "ApiVersions answered error 42 (error_code)")


def test_highest_version_of_both_is_used() -> None:
    exchange = opened(FakeBroker())
    assert exchange.version_for(FetchRequest) == VERSION
    assert exchange.version_for(FetchRequest, 7) == 7
    for kind, most, text in (
        (FetchRequest, 3, "Fetch: the broker supports versions 4 to 12, this request needs 0 to 3"),
        (MetadataRequest, None, "the broker does not support Metadata"),
    ):
        with pytest.raises(NoCommonVersionError) as caught:
            exchange.version_for(kind, most)
        assert str(caught.value) == text
        assert caught.value.request == kind.NAME


@each("seed", range(50))
def test_earliest_deadline_ends_the_connection(seed: int) -> None:
    """The caller is never called after it, and seldom before."""
    chance = random.Random(seed)
    exchange, broker = opened(FakeBroker()), FakeBroker()
    now_s = 0.0
    left: deque[float] = deque()
    unanswered: list[bytes] = []
    while True:
        now_s += chance.random()
        if chance.random() < 0.5:
            timeout_s = chance.choice([1.0, 5.0, 30.0])
            fetch(exchange, len(left), timeout_s=timeout_s, now_s=now_s)
            left.append(now_s + timeout_s)
        elif left and chance.random() < 0.8:
            unanswered += broker.answers(exchange.take_unsent())
            assert len(receive(exchange, unanswered.pop(0), now_s)) == 1
            left.popleft()
        assert exchange.check_at_s <= min(left, default=inf)
        if now_s >= exchange.check_at_s:
            late = exchange.overdue(now_s)
            assert (late is not None) == (min(left, default=inf) <= now_s), f"seed {seed}"
            if late is not None:
                assert (late.name, late.deadline_s) == ("Fetch", min(left))
                break
            assert exchange.check_at_s == min(left, default=inf)


def test_requests_wait_for_the_login_and_keep_their_order() -> None:
    """Those that were given up are left out. The time of the others begins when they are sent."""
    broker = FakeBroker()
    exchange = opened(broker, has_login=True, is_wanted=lambda token: token != 2)
    exchange.overdue(0.0)
    for number in range(4):
        fetch(exchange, number, size=number)
    exchange.request(ProduceRequest(acks=0), 9, None, None, 0.0, 0.0)
    assert (exchange.unsent, exchange.check_at_s) == (b"", inf)
    log_in(exchange, now_s=100.0)
    outcomes = receive(exchange, broker.answers(exchange.take_unsent())[0], 110.0)
    assert (outcomes, exchange.check_at_s) == ([], 100.0 + TIMEOUT_S)
    outcomes = receive(exchange, broker.answers(exchange.take_unsent())[0], 120.0)
    assert outcomes == [("login", None)]
    assert [pending.token for pending in exchange.pending] == [0, 1, 3]
    assert exchange.overdue(149.0) is None
    assert exchange.check_at_s == 120.0 + TIMEOUT_S
    data = b"".join(broker.answers(exchange.take_unsent()))
    assert receive(exchange, data) == [(number, fetched(number)) for number in (0, 1, 3)]
    assert sizes(broker) == [0, 1, 3]
    assert isinstance(broker.received[-1], ProduceRequest)


def test_requests_wait_for_a_renewal() -> None:
    broker = FakeBroker()
    exchange = opened(broker)
    log_in(exchange)
    fetch(exchange, "next", size=5)
    assert run(exchange, broker) == [("login", None), ("next", fetched(5))]
    kinds = [type(request) for request in broker.received]
    assert kinds == [ApiVersionsRequest, SaslHandshakeRequest, SaslAuthenticateRequest, FetchRequest]


def test_held_request_that_cannot_be_encoded_is_a_failure() -> None:
    """The login has its outcome. The requests that were held have one when the connection is closed."""
    broker = FakeBroker()
    exchange = opened(broker, has_login=True)
    exchange.request(FetchRequest(max_wait_ms=1 << 40), VERSION, FetchResponse, "large", TIMEOUT_S, 0.0)
    fetch(exchange, "next")
    log_in(exchange)
    assert run(exchange, broker) == [("login", None)]
    assert "out of range" in str(exchange.failure)
    assert exchange.abandon() == ["large", "next"]


def test_refused_login_holds_the_requests() -> None:
    broker = FakeBroker(login_error=ErrorCode.SASL_AUTHENTICATION_FAILED)
    exchange = opened(broker, has_login=True)
    fetch(exchange, "held")
    log_in(exchange)
    ((token, error),) = run(exchange, broker)
    assert token == "login"
    assert isinstance(error, LoginRefusedError)
    assert "ann" in str(error)
    assert "secret" not in str(error)
    assert exchange.abandon() == ["held"]
    assert sizes(broker) == []


def test_sessions_are_renewed_after_85_to_95_percent() -> None:
    renewals = []
    for chance in (0.0, 0.5, 1.0):
        broker = FakeBroker(lifetime_ms=1_000)
        exchange = opened(broker, has_login=True)
        log_in(exchange, chance)
        run(exchange, broker, 7.0)
        renewals.append(exchange.renew_at_s)
    assert renewals == pytest.approx([7.85, 7.9, 7.95])
    assert [exchange.is_renewal_due(now_s) for now_s in (7.94, 7.96)] == [False, True]
    broker = FakeBroker(lifetime_ms=0)
    exchange = opened(broker, has_login=True)
    log_in(exchange)
    run(exchange, broker)
    assert exchange.renew_at_s is None
    assert not exchange.is_renewal_due(1e9)


def test_login_at_a_peer_without_sasl_has_no_version() -> None:
    exchange = Exchange("me", PEER, has_login=True)
    with pytest.raises(NoCommonVersionError, match="does not support SaslHandshake"):
        log_in(exchange)
    assert exchange.abandon() == []
