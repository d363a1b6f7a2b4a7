"""A broker logs in to another node before it sends other requests, and renews its session in time."""

import asyncio
from collections.abc import Callable, Iterator

import pytest

from odradek.broker.network.node_client import (
    LOGIN_PAUSE_S,
    NodeClient,
    NodeLoginError,
    NodeSecurity,
    NodeSilentError,
    NodeUnavailableError,
)
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode, LoginRefusedError
from odradek.protocol.messages.quorum import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from odradek.protocol.messages.security import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from odradek.protocol.messages.structure import Message
from odradek.protocol.security.login_exchange import MESSAGES_MAX, login_steps
from odradek.protocol.security.login_mechanisms import MechanismError
from odradek.protocol.security.token_settings import TokenError
from support.brokers.fake_node import SERVED, Answer, FakeNode

TIMEOUT_S = 60.0
WITH_SASL = {**SERVED, ApiKey.SASL_HANDSHAKE: (0, 1), ApiKey.SASL_AUTHENTICATE: (0, 2)}


class Echoing:
    """A mechanism of two messages. The second one repeats the node's answer."""

    name = "ECHO"
    user: str | None = "broker-1"

    def __init__(self) -> None:
        self._count = 0

    def first(self) -> bytes:
        return b"hello"

    def answer(self, message: bytes) -> bytes | None:
        self._count += 1
        if message == b"lie":
            raise MechanismError("the node does not know the password")
        return message if self._count == 1 else None


def node_answers(answers: Iterator[SaslAuthenticateResponse]) -> Callable[[Message], Answer]:
    def answer(request: Message) -> Answer:
        if isinstance(request, SaslHandshakeRequest):
            known = request.mechanism == "ECHO"
            code = ErrorCode.NONE if known else ErrorCode.UNSUPPORTED_SASL_MECHANISM
            return SaslHandshakeResponse(code, ["ECHO", "PLAIN"])
        if isinstance(request, SaslAuthenticateRequest):
            return next(answers)
        return AllocateProducerIdsResponse()

    return answer


def said(data: bytes, lifetime_ms: int = 0) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(0, None, data, lifetime_ms)


async def ask(client: NodeClient) -> AllocateProducerIdsResponse:
    return await client.send(AllocateProducerIdsRequest(1, 1), AllocateProducerIdsResponse, TIMEOUT_S)


def names(node: FakeNode) -> list[str]:
    return [type(request).__name__.removesuffix("Request") for request in node.received]


async def echoing() -> Echoing:
    return Echoing()


async def test_login_comes_before_every_request() -> None:
    """The messages of the mechanism are sent in order, once for each connection."""
    async with FakeNode(node_answers(iter([said(b"again"), said(b"")])), WITH_SASL) as node:
        client = NodeClient(node.host, node.port, "test", NodeSecurity(login=echoing))
        await ask(client)
        await ask(client)
        client.close()
        assert names(node) == ["SaslHandshake", "SaslAuthenticate", "SaslAuthenticate", *["AllocateProducerIds"] * 2]
        messages = [request.auth_bytes for request in node.received if isinstance(request, SaslAuthenticateRequest)]
        assert messages == [b"hello", b"again"]


async def renewal_is_due(client: NodeClient) -> None:
    assert client.renew_at_s is not None
    due = asyncio.Event()
    asyncio.get_running_loop().call_at(client.renew_at_s, due.set)
    await due.wait()


async def test_session_is_renewed_on_the_same_connection() -> None:
    """It is renewed after most of its lifetime, and before the next request."""
    short_ms = 1
    answers = iter([said(b"a"), said(b"", short_ms), said(b"b"), said(b"", 0)])
    async with FakeNode(node_answers(answers), WITH_SASL) as node:
        client = NodeClient(node.host, node.port, "test", NodeSecurity(login=echoing))
        await client.connect(TIMEOUT_S)
        await renewal_is_due(client)
        await ask(client)
        await ask(client)
        login = ["SaslHandshake", "SaslAuthenticate", "SaslAuthenticate"]
        assert names(node) == [*login, *login, "AllocateProducerIds", "AllocateProducerIds"]
        assert node.connections == 1
        client.close()


async def test_refused_login_is_not_tried_again_at_once() -> None:
    """A wrong password does not cause a flood of logins. The error has the node, the mechanism and the user."""
    refusal = SaslAuthenticateResponse(ErrorCode.SASL_AUTHENTICATION_FAILED, "invalid credentials", b"")
    async with FakeNode(node_answers(iter([refusal])), WITH_SASL) as node:
        client = NodeClient(node.host, node.port, "test", NodeSecurity(login=echoing))
        for _ in range(3):
            with pytest.raises(NodeLoginError) as caught:
                await ask(client)
        wanted = rf"{client.address} (ECHO, user 'broker-1') refuses the login: invalid credentials"
        assert str(caught.value) == wanted
        assert node.connections == 1, f"the next one comes after {LOGIN_PAUSE_S} s"


@pytest.mark.parametrize(
    ("mechanism", "answers", "problem"),
    [
        ("OTHER", [], "does not enable the mechanism OTHER; it enables ECHO, PLAIN"),
        ("ECHO", [said(b"lie")], "the node does not know the password"),
        ("ECHO", [SaslAuthenticateResponse(ErrorCode.ILLEGAL_SASL_STATE, None, b"")], "ILLEGAL_SASL_STATE"),
    ],
)
async def test_every_refusal_is_named(mechanism: str, answers: list[SaslAuthenticateResponse], problem: str) -> None:
    async def login() -> Echoing:
        made = Echoing()
        made.name = mechanism
        return made

    async with FakeNode(node_answers(iter(answers)), WITH_SASL) as node:
        client = NodeClient(node.host, node.port, "test", NodeSecurity(login=login))
        with pytest.raises(NodeLoginError, match=problem):
            await ask(client)
        assert "AllocateProducerIds" not in names(node)


async def test_a_node_without_a_token_waits_before_it_asks_again() -> None:
    """No request is sent, and the error has the reason."""
    asked = []

    async def no_token() -> Echoing:
        asked.append(1)
        raise TokenError("the endpoint answered HTTP 503")

    async with FakeNode(node_answers(iter([])), WITH_SASL) as node:
        client = NodeClient(node.host, node.port, "test", NodeSecurity(login=no_token))
        for _ in range(3):
            with pytest.raises(NodeLoginError, match="the endpoint answered HTTP 503"):
                await ask(client)
        assert len(asked) == node.connections == 1
        assert node.received == []


class JumpingLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock can jump forward."""

    jumped_s = 0.0

    def time(self) -> float:
        return super().time() + self.jumped_s


def jump(seconds: float) -> None:
    """Lets the clock of the running loop jump. The loop looks at it again in its next turn."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, JumpingLoop)
    loop.jumped_s += seconds
    loop.call_soon(lambda: None)


def test_slow_node_has_the_time_limit_for_each_step() -> None:
    """As Kafka's: a request's time begins when it is sent. The steps together take longer than the limit."""
    answering = node_answers(iter([said(b"again"), said(b"")]))

    def answer(request: Message) -> Answer:
        jump(TIMEOUT_S * 2 / 3)
        return answering(request)

    async def ask_once() -> None:
        async with FakeNode(answer, WITH_SASL) as node:
            client = NodeClient(node.host, node.port, "test", NodeSecurity(login=echoing))
            await ask(client)
            client.close()
            assert len(node.received) == 4
            assert node.connections == 1

    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        runner.run(ask_once())


@pytest.mark.parametrize("answered", range(4))
def test_step_that_takes_too_long_ends_the_connection(answered: int) -> None:
    """Whichever it is: two messages of the login and the handshake before them, or the request after it."""
    answering = node_answers(iter([said(b"again"), said(b"")]))
    left = [answered]

    def answer(request: Message) -> Answer:
        left[0] -= 1
        if left[0] >= 0:
            return answering(request)
        jump(TIMEOUT_S)
        return None

    async def ask_once() -> None:
        async with FakeNode(answer, WITH_SASL) as node:
            client = NodeClient(node.host, node.port, "test", NodeSecurity(login=echoing))
            with pytest.raises(NodeSilentError, match=r"did not answer within 60\.0 s"):
                await ask(client)
            assert len(node.received) == answered + 1

    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        runner.run(ask_once())


async def test_node_without_sasl_is_unavailable() -> None:
    """Nothing is sent to a node that does not require a login."""
    async with FakeNode(node_answers(iter([])), SERVED) as node:
        client = NodeClient(node.host, node.port, "test", NodeSecurity(login=echoing))
        with pytest.raises(NodeUnavailableError, match="supports no version of SaslHandshakeRequest"):
            await ask(client)
        assert node.received == []


def test_node_that_goes_on_asking_is_refused() -> None:
    """No mechanism has more than a few messages."""

    class Endless(Echoing):
        def answer(self, message: bytes) -> bytes | None:
            return b"more"

    steps = login_steps(Endless(), "host:1")
    next(steps)
    steps.send(SaslHandshakeResponse(0, []))
    for _ in range(MESSAGES_MAX - 1):
        steps.send(said(b""))
    with pytest.raises(LoginRefusedError, match=f"after {MESSAGES_MAX} messages"):
        steps.send(said(b""))
