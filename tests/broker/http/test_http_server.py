"""The HTTP server of metrics and console: its limits, its order, its ends."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterator
from itertools import pairwise

import pytest

from odradek.broker.http.connection import HttpLimits
from odradek.broker.http.messages import HttpRequest, HttpResponse, text_response

from .raw_client import HEAD, connected, serving

KEPT = HttpLimits(max_idle_s=10.0)
GET = b"GET /a?b=c HTTP/1.1\r\n" + HEAD


async def shown(request: HttpRequest) -> HttpResponse:
    """Answers with what was asked."""
    return text_response(200, f"{request.method} {request.path} {request.query} {request.field('x-name')}")


async def body_of(request: HttpRequest) -> HttpResponse:
    """Answers with the body, of at most ten bytes."""
    return HttpResponse(200, (), await request.read_body(10))


async def unread(request: HttpRequest) -> HttpResponse:
    """Answers without a look at the body."""
    return text_response(403, "no")


def post(length: int, body: bytes, *more: bytes) -> bytes:
    return b"".join([b"POST / HTTP/1.1\r\nContent-Length: %d\r\n" % length, *more, HEAD, body])


async def test_a_connection_is_kept_for_the_next_request() -> None:
    async with serving(shown) as port, connected(port) as client:
        for _ in range(3):
            status, head, body = await client.ask(b"GET /a?b=c HTTP/1.1\r\nX-Name: d\r\n" + HEAD)
            assert (status, body) == (200, b"GET /a b=c d")
            assert "connection: close" not in head.lower()


async def test_requests_that_follow_at_once_are_answered_in_order() -> None:
    async with serving(shown) as port, connected(port) as client:
        client.writer.write(b"GET /1 HTTP/1.1\r\n" + HEAD + b"GET /2 HTTP/1.1\r\n" + HEAD)
        assert [(await client.answer())[2] for _ in range(2)] == [b"GET /1  ", b"GET /2  "]


async def test_without_idle_time_each_answer_closes() -> None:
    async with serving(shown, HttpLimits()) as port, connected(port) as client:
        status, head, _ = await client.ask(GET)
        assert status == 200
        assert "Connection: close" in head
        assert await client.rest() == b""


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET / HTTP/1.1\r\nX: " + b"a" * 9000 + b"\r\n" + HEAD, 431),
        (b"GET / HTTP/1.1\r\n\r\n", 400),  # without Host
        (b"GET / HTTP/1.1\r\nHost: a\r\n" + HEAD, 400),  # two of them
        (b"GET / HTTP/1.1\r\nbad header\r\n" + HEAD, 400),
        (b"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n" + HEAD, 400),
        (b"GET /\x00 HTTP/1.1\r\n" + HEAD, 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),  # TLS
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n" + HEAD, 501),
    ],
)
async def test_what_is_not_http_is_refused(request_bytes: bytes, status: int) -> None:
    async with serving(shown) as port, connected(port) as client:
        assert (await client.ask(request_bytes))[0] == status
        assert await client.rest() == b""


async def test_a_body_is_read_up_to_its_limit() -> None:
    async with serving(body_of) as port, connected(port) as client:
        assert (await client.ask(post(10, b"0123456789")))[2] == b"0123456789"
        chunked = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + HEAD
        assert (await client.ask(chunked + b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"))[2] == b"abcde"
        for large in (post(11, b"0123456789a"), post(10**12, b""), chunked + b"b\r\n0123456789a\r\n0\r\n\r\n"):
            async with connected(port) as another:
                status, _, text = await another.ask(large)
                assert (status, text) == (413, b"the body has more than 10 bytes\n")


async def test_a_client_that_waits_for_the_word_to_go_on_gets_it() -> None:
    async with serving(body_of) as port, connected(port) as client:
        client.writer.write(post(3, b"", b"Expect: 100-continue\r\n"))
        assert await client.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 \r\n\r\n"
        assert (await client.ask(b"abc"))[2] == b"abc"


async def test_a_body_that_nothing_asks_for_is_not_kept() -> None:
    """Its client reads the answer, although the server took its body only to skip it."""
    async with serving(unread) as port, connected(port) as client:
        assert (await client.ask(post(100_000, b"a" * 100_000)))[0] == 403
        assert (await client.ask(post(0, b"")))[0] == 403  # the connection goes on
        assert (await client.ask(post(10_000_000, b"a" * 1000)))[0] == 403


async def test_a_body_that_does_not_arrive_ends_the_connection() -> None:
    async with serving(body_of, KEPT._replace(max_wait_s=0.05)) as port, connected(port) as client:
        client.writer.write(post(10, b"01"))
        assert await client.rest() == b""


async def test_a_request_that_does_not_arrive_ends_the_connection() -> None:
    async with serving(shown, KEPT._replace(max_wait_s=0.05)) as port, connected(port) as client:
        client.writer.write(b"GET / HT")
        assert await client.rest() == b""


async def test_the_oldest_of_too_many_silent_connections_is_closed() -> None:
    async with (
        serving(shown, KEPT._replace(max_requests=2)) as port,
        connected(port) as first,
        connected(port) as second,
    ):
        first.writer.write(b"GET")
        second.writer.write(b"GET")
        async with connected(port) as third:
            assert await first.rest() == b""
            assert (await third.ask(GET))[0] == 200
            assert (await second.ask(b" /a?b=c HTTP/1.1\r\n" + HEAD))[0] == 200


async def test_a_fault_of_an_answer_ends_that_answer(caplog: pytest.LogCaptureFixture) -> None:
    async def fails(request: HttpRequest) -> HttpResponse:
        if request.path == "/fails":
            raise ValueError("a secret")
        return text_response(200, "fine")

    async with serving(fails) as port, connected(port) as client:
        status, _, body = await client.ask(b"GET /fails HTTP/1.1\r\n" + HEAD)
        assert status == 500
        assert b"secret" not in body
        assert (await client.ask(GET))[2] == b"fine"
    assert "GET of '/fails' failed: ValueError('a secret')" in caplog.text


async def test_head_has_no_body() -> None:
    async with serving(shown) as port, connected(port) as client:
        client.writer.write(b"HEAD / HTTP/1.1\r\n" + HEAD)
        head = await client.reader.readuntil(b"\r\n\r\n")
        assert b"Content-Length: 8" in head
        assert (await client.ask(GET))[0] == 200


class Source:
    """Makes pieces until it is closed, and says so."""

    def __init__(self, piece: bytes) -> None:
        self.piece = piece
        self.made = 0
        self.closed = asyncio.Event()

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        try:
            while True:
                self.made += 1
                yield self.piece
                await asyncio.sleep(0)
        finally:
            self.closed.set()

    async def one_piece(self) -> AsyncGenerator[bytes, None]:
        try:
            yield self.piece
            await asyncio.Event().wait()
        finally:
            self.closed.set()

    async def answer(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse(200, (), self.pieces() if request.path == "/many" else self.one_piece())


async def test_a_stream_ends_when_its_client_leaves() -> None:
    """Also one that has nothing to send."""
    source = Source(b"x")
    async with serving(source.answer) as port:
        async with connected(port) as client:
            client.writer.write(b"GET /one HTTP/1.1\r\n" + HEAD)
            await client.reader.readuntil(b"x\r\n")
        await source.closed.wait()


async def test_a_stream_that_is_not_read_is_made_no_further_and_cut_off(caplog: pytest.LogCaptureFixture) -> None:
    source = Source(b"x" * 65_536)
    async with serving(source.answer, KEPT._replace(max_wait_s=0.05)) as port, connected(port, 1024) as client:
        with caplog.at_level(logging.WARNING):
            client.writer.write(b"GET /many HTTP/1.1\r\n" + HEAD)
            await source.closed.wait()
    assert source.made < 1000
    assert "has read none of its answer for 0.05 s: connection closed" in caplog.text


async def test_a_stream_that_ends_is_complete() -> None:
    async def three() -> AsyncGenerator[bytes, None]:
        for piece in (b"a", b"b", b"c"):
            yield piece

    async def answer(request: HttpRequest) -> HttpResponse:
        return HttpResponse(200, (), three())

    async with serving(answer) as port, connected(port) as client:
        assert (await client.ask(GET))[2] == b"abc"
        assert (await client.ask(GET))[2] == b"abc"


async def test_a_stream_that_fails_ends_its_connection(caplog: pytest.LogCaptureFixture) -> None:
    async def failing() -> AsyncGenerator[bytes, None]:
        yield b"a"
        raise ValueError("broken")

    async def answer(request: HttpRequest) -> HttpResponse:
        return HttpResponse(200, (), failing())

    async with serving(answer) as port, connected(port) as client:
        client.writer.write(GET)
        received = await client.rest()
        assert received.endswith(b"1\r\na\r\n")  # not the end of all chunks
    assert "broken" in caplog.text


async def test_pieces_of_answers_take_turns() -> None:
    """One turn of the loop makes pieces of one answer, however many clients ask."""
    made: list[int] = []

    def pieces(number: int) -> Iterator[bytes]:
        for _ in range(3):
            made.append(number)
            yield b"x"

    async def answer(request: HttpRequest) -> HttpResponse:
        return HttpResponse(200, (), pieces(len(made)))

    turns: list[int] = []

    async def watch() -> None:
        while True:
            turns.append(len(made))
            await asyncio.sleep(0)

    async with serving(answer, KEPT._replace(turn_s=0.0)) as port:
        watching = asyncio.create_task(watch())

        async def ask() -> None:
            async with connected(port) as client:
                assert (await client.ask(GET))[2] == b"xxx"

        await asyncio.gather(*(ask() for _ in range(5)))
        watching.cancel()
    assert len(made) == 15
    assert max(after - before for before, after in pairwise(turns)) == 1


async def test_nothing_is_left_of_connections_that_have_ended() -> None:
    async with serving(shown) as port:
        for _ in range(20):
            async with connected(port) as client:
                assert (await client.ask(GET))[0] == 200
        await asyncio.gather(*(task for task in asyncio.all_tasks() if task is not asyncio.current_task()))
