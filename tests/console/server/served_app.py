"""A console in the test's process, with routes of the test's own, and no Kafka."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager

from odradek.broker.http.connection import HttpLimits
from odradek.broker.http.messages import HttpService
from odradek.broker.http.server import HttpServer
from odradek.client.errors import AuthenticationError
from odradek.console.arguments import ConsoleError, ViewArguments
from odradek.console.context import Attachment, ClientSettings, Context, Json, ViewRoute
from odradek.console.server.app import ConsoleApp
from odradek.console.server.hosts import AllowedHosts
from odradek.console.server.login import TOKEN, ConsoleAccess
from odradek.console.server.page_files import read_page
from odradek.console.server.sessions import Sessions
from odradek.protocol.errors import ErrorCode, KafkaError

SECRET = "the-token"
NOWHERE = ClientSettings("127.0.0.1:1")


class UnconnectedContext(Context):
    """A context that connects to nothing."""

    async def connect(self) -> None:
        """Does nothing."""


class Calls:
    """What the views of the test were asked."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.ended = threading.Event()

    async def show(self, context: Context, arguments: ViewArguments) -> Json:
        self.seen.append("show")
        return {"name": arguments.text("name"), "count": arguments.number("count", 0)}

    async def change(self, context: Context, arguments: ViewArguments) -> Json:
        self.seen.append("change")
        return {"done": arguments.text("name")}

    async def fail(self, context: Context, arguments: ViewArguments) -> Json:
        kind = arguments.text("kind")
        if kind == "login":
            raise AuthenticationError("the password was changed")
        if kind == "kafka":
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "not yours")
        if kind == "console":
            raise ConsoleError(409, "in the way", "IN_THE_WAY")
        raise ValueError("a secret path")

    async def download(self, context: Context, arguments: ViewArguments) -> Attachment:
        return Attachment('va"lue\r\nX: y.html', b"<script>")

    async def count(self, context: Context, arguments: ViewArguments) -> AsyncGenerator[Json, None]:
        try:
            for number in range(arguments.number("to", 3)):
                yield {"number": number}
            if arguments.flag("fails"):
                raise ValueError("a secret path")
            if arguments.flag("waits"):
                await asyncio.Event().wait()
        finally:
            self.ended.set()

    def routes(self) -> tuple[ViewRoute, ...]:
        return (
            ViewRoute("GET", "/api/things/{name}", self.show),
            ViewRoute("POST", "/api/things", self.change),
            ViewRoute("GET", "/api/fails", self.fail),
            ViewRoute("GET", "/api/download", self.download),
            ViewRoute("GET", "/api/count", self.count, is_stream=True),
        )


@contextmanager
def served_app(
    calls: Calls,
    *,
    access: ConsoleAccess | None = None,
    allows_changes: bool = True,
    listener_host: str = "127.0.0.1",
    host_names: tuple[str, ...] = (),
) -> Iterator[int]:
    """The port of a console on a thread of its own."""
    started: list[int] = []
    ready, stop = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        sessions = Sessions("console", loop.time, is_secure=False)
        app = ConsoleApp(
            access or ConsoleAccess(TOKEN, NOWHERE, SECRET),
            AllowedHosts(listener_host, host_names),
            sessions,
            read_page(),
            calls.routes(),
            allows_changes=allows_changes,
            over_tls=False,
            context_of=UnconnectedContext,
        )
        server = HttpServer(HttpService(app.answer), HttpLimits(head_bytes=16_384, max_idle_s=10.0))
        started.append(await server.start("127.0.0.1", 0))
        ready.set()
        await stop.wait()
        server.stop()
        await sessions.end_all()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(serve())

    thread = threading.Thread(target=run)
    thread.start()
    try:
        ready.wait()
        yield started[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
