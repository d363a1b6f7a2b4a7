"""The parts of the console's server alone: events, sessions, logins, the table of errors, arguments."""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable

import pytest

from odradek.client.errors import (
    AuthenticationError,
    BrokerConnectionError,
    ClientError,
    NoBrokersAvailableError,
    RequestTimedOutError,
)
from odradek.console.arguments import BadArgument, ConsoleError, ViewArguments
from odradek.console.context import Context, Json
from odradek.console.server.events import COMMENT, ENDED, event_stream
from odradek.console.server.kafka_errors import shown_error, status_of
from odradek.console.server.login import KAFKA, ConsoleAccess, check_login, quoted
from odradek.console.server.sessions import IDLE_S, MAX_SESSIONS, Sessions
from odradek.protocol.errors import ErrorCode, KafkaError, ProtocolError
from odradek.protocol.security.jaas import parse_module

from .served_app import NOWHERE, UnconnectedContext

# Event streams


class Values:
    """A view's generator that a test drives."""

    def __init__(self) -> None:
        self.next: asyncio.Queue[Json | Exception] = asyncio.Queue()
        self.is_closed = False

    async def generate(self) -> AsyncGenerator[Json, None]:
        try:
            while (value := await self.next.get()) is not None:
                if isinstance(value, Exception):
                    raise value
                yield value
        finally:
            self.is_closed = True


async def test_values_are_events_until_the_end() -> None:
    values = Values()
    for value in ("a\nb", {"offset": "9007199254740993"}, None):
        values.next.put_nowait(value)
    events = [event async for event in event_stream(values.generate(), shown=lambda error: {})]
    assert events == [COMMENT, b'data: "a\\nb"\n\n', b'data: {"offset":"9007199254740993"}\n\n', ENDED]
    assert values.is_closed


async def test_a_silent_stream_has_comments_and_loses_nothing() -> None:
    values = Values()
    stream = event_stream(values.generate(), shown=lambda error: {}, comment_s=0.01)
    seen = [await anext(stream) for _ in range(4)]
    assert seen == [COMMENT] * 4
    values.next.put_nowait(1)
    while (event := await anext(stream)) == COMMENT:
        pass
    assert event == b"data: 1\n\n"
    await stream.aclose()
    assert values.is_closed


async def test_a_failure_is_the_last_event() -> None:
    values = Values()
    values.next.put_nowait(ConsoleError(404, "gone"))
    shown = event_stream(values.generate(), shown=lambda error: {"error": str(error)})
    assert [event async for event in shown][1:] == [b'event: failed\ndata: {"error":"gone"}\n\n']
    assert values.is_closed


async def test_a_value_is_made_when_the_one_before_was_sent() -> None:
    made = 0

    async def many() -> AsyncGenerator[Json, None]:
        nonlocal made
        while True:
            made += 1
            yield made

    stream = event_stream(many(), shown=lambda error: {})
    for expected in (0, 1, 2):
        await anext(stream)
        await asyncio.sleep(0)
        assert made <= expected + 1
    await stream.aclose()


# Sessions


class Clock:
    """A clock that a test moves."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class ClosingContext(UnconnectedContext):
    """Notes that its session has ended."""

    is_closed = False

    async def close(self) -> None:
        self.is_closed = True
        await super().close()


async def opened(sessions: Sessions) -> tuple[str, ClosingContext]:
    context = ClosingContext(NOWHERE)
    _, cookie = await sessions.open(context)
    return cookie.partition(";")[0], context


async def test_an_unused_session_ends() -> None:
    clock = Clock()
    sessions = Sessions("c", clock, is_secure=False)
    unused, first = await opened(sessions)
    used, second = await opened(sessions)
    clock.now_s = IDLE_S - 1
    assert sessions.find(f"other=1; {used}; c2=x") is not None
    clock.now_s = IDLE_S + 1
    await sessions.end_idle()
    assert (first.is_closed, second.is_closed) == (True, False)
    assert sessions.find(unused) is None
    await sessions.end_all()
    assert second.is_closed


async def test_a_session_with_a_stream_is_used() -> None:
    clock = Clock()
    sessions = Sessions("c", clock, is_secure=False)
    cookie, context = await opened(sessions)
    session = sessions.find(cookie)
    assert session is not None
    session.streams = 1
    clock.now_s = 2 * IDLE_S
    await sessions.end_idle()
    assert not context.is_closed
    await sessions.end_all()


async def test_sessions_are_bounded() -> None:
    clock = Clock()
    sessions = Sessions("c", clock, is_secure=False)
    made = []
    for _ in range(MAX_SESSIONS + 3):
        clock.now_s += 1
        made.append(await opened(sessions))
    assert len(sessions) == MAX_SESSIONS
    assert [context.is_closed for _, context in made] == [True] * 3 + [False] * MAX_SESSIONS
    await sessions.end_all()


async def test_cookies_over_tls_are_for_tls() -> None:
    sessions = Sessions("c", Clock(), is_secure=True)
    _, cookie = await sessions.open(ClosingContext(NOWHERE))
    assert cookie.endswith("; Secure")
    await sessions.end_all()


async def test_a_part_lives_as_long_as_its_session() -> None:
    class Samples:
        def __init__(self, context: Context) -> None:
            self.is_closed = False

        async def close(self) -> None:
            self.is_closed = True

    context = UnconnectedContext(NOWHERE)
    samples = context.part(Samples)
    assert context.part(Samples) is samples
    await context.close()
    assert samples.is_closed


# Logins


def test_any_password_is_quoted_for_jaas() -> None:
    """A password can't add an option, end the module, or change the class."""
    chance = random.Random(3)
    alphabet = "ab\"\\';= ${}/*#\t€\x80" + "ü"
    for _ in range(2000):
        text = "".join(chance.choice(alphabet.replace("\t", "")) for _ in range(chance.randrange(12)))
        module = parse_module(f"a.B required username={quoted('user', text)} password={quoted('password', 'p')};")
        assert module.options == {"username": text, "password": "p"}
    for control in "\n\r\t\x00\x7f":
        with pytest.raises(BadArgument):
            quoted("user", f"a{control}b")


ACCESS = ConsoleAccess(
    KAFKA, NOWHERE, properties={"security.protocol": "SASL_PLAINTEXT"}, mechanisms=("SCRAM-SHA-512", "PLAIN")
)


def test_a_login_takes_a_name_a_password_and_an_offered_mechanism() -> None:
    logged_in = check_login(ACCESS, ViewArguments({"user": "alice", "password": 'x"; a="b'}))
    assert logged_in.user == "alice"
    assert logged_in.client.security is not None
    for given in (
        {"user": "alice"},
        {"password": "x"},
        {"user": "alice", "password": "x", "mechanism": "GSSAPI"},
        {"user": "alice", "password": "x", "mechanism": "SCRAM-SHA-256"},
        {"user": "a" * 2000, "password": "x"},
        {"user": ["alice"], "password": "x"},
    ):
        with pytest.raises(BadArgument):
            check_login(ACCESS, ViewArguments(given))


def test_the_browser_sends_no_setting() -> None:
    """Whatever else is in a login, the client has the console's settings."""
    more = {"bootstrapServers": "evil:9092", "security.protocol": "PLAINTEXT", "properties": {"a": "b"}}
    logged_in = check_login(ACCESS, ViewArguments({"user": "alice", "password": "x", **more}))
    assert logged_in.client.bootstrap_servers == NOWHERE.bootstrap_servers


# Errors


def test_every_error_of_kafka_has_a_status() -> None:
    for code in ErrorCode:
        assert status_of(code) in (400, 401, 403, 404, 409, 502, 503, 504), code.name
    assert status_of(ErrorCode.GROUP_AUTHORIZATION_FAILED) == 403
    assert status_of(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) == 404
    assert status_of(ErrorCode.NON_EMPTY_GROUP) == 409
    assert status_of(ErrorCode.INVALID_CONFIG) == 400
    assert status_of(ErrorCode.COORDINATOR_NOT_AVAILABLE) == 503


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (AuthenticationError("a"), 401, "AUTHENTICATION_FAILED"),
        (NoBrokersAvailableError("a"), 503, "BROKER_NOT_AVAILABLE"),
        (BrokerConnectionError("a"), 503, "BROKER_NOT_AVAILABLE"),
        (RequestTimedOutError("a"), 504, "REQUEST_TIMED_OUT"),
        (ClientError("a"), 502, "CLIENT_ERROR"),
        (ProtocolError("a"), 502, "PROTOCOL_ERROR"),
        (KafkaError(ErrorCode.POLICY_VIOLATION, "a"), 400, "POLICY_VIOLATION"),
        (ValueError("a secret"), 500, "CONSOLE_FAULT"),
    ],
)
def test_each_kind_of_error_is_shown(error: Exception, status: int, code: str) -> None:
    found, shown = shown_error(error)
    assert (found, shown["code"]) == (status, code)
    assert "secret" not in shown["error"]


# Arguments


def test_lists_tables_and_rows_are_checked() -> None:
    given = ViewArguments({"one": "a", "many": ["a", "b"], "table": {"k": "v", "n": None}, "rows": [{"a": "1"}]})
    assert given.items("one") == ["a"]
    assert given.items("many") == ["a", "b"]
    assert given.items("none") == []
    assert given.table("table") == {"k": "v", "n": None}
    assert given.rows("rows")[0].number("a") == 1
    reads: list[tuple[str, Callable[[], object]]] = [
        ("many", lambda: given.items("many", most=1)),
        ("table", lambda: given.items("table")),
        ("rows", lambda: given.table("rows")),
        ("table", lambda: given.rows("table")),
        ("many", lambda: given.flag("many")),
        ("one", lambda: given.choice("one", None, ("b",))),
    ]
    for name, read in reads:
        with pytest.raises(BadArgument, match=name):
            read()
