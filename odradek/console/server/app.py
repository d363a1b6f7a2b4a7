"""The console as one function from a request to a response.

Owns: the order of the checks. For every path: ``Host``; for a change: ``Origin``, the console's header and JSON; for
everything but the page and the login: the session. Only then the body is read, and the view is called. Never does:
sockets, asking Kafka. Invariant: an exception ends the one request that it is raised in; its details go to the log.
"""

import asyncio
import gzip
import logging
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import cast

from odradek import __version__
from odradek.broker.http.messages import BodyRefusedError, Headers, HttpRequest, HttpResponse
from odradek.client.errors import AuthenticationError

from ..arguments import ConsoleError, ViewArguments
from ..context import Answered, Attachment, Context, Insights, Json, ViewRoute
from .events import dumped, event_stream
from .hosts import AllowedHosts, is_own_origin
from .kafka_errors import KNOWN_ERRORS, shown_error
from .login import KAFKA, ConsoleAccess, check_login
from .page_files import SAFE_HEADERS, PageFile
from .routing import RouteTable, body_arguments, query_arguments
from .sessions import MAX_STREAMS, ConsoleSession, Sessions

logger = logging.getLogger(__name__)

SESSION_PATH, END_PATH = "/api/session", "/api/session/end"
CHANGE_HEADER = "x-odradek-console"
"""Other pages can't set it without asking first, which this server never allows."""
MAX_BODY_BYTES = 2 * 1_048_576
"""A record of the largest default size, in base64 or escaped, fits."""
MAX_BODIES = 8
"""The most bodies that are read at a time."""
COMPRESSED_FROM = 4096
"""The least bytes of JSON that are compressed."""
API_HEADERS: Headers = (
    *SAFE_HEADERS,
    ("Cache-Control", "no-store"),
    ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox"),
)
STREAM_HEADERS: Headers = (
    *API_HEADERS,
    ("Content-Type", "text/event-stream; charset=utf-8"),
    ("X-Accel-Buffering", "no"),
)


class ConsoleApp:
    """One console."""

    def __init__(
        self,
        access: ConsoleAccess,
        hosts: AllowedHosts,
        sessions: Sessions,
        page: PageFile,
        routes: Iterable[ViewRoute],
        insights_of: Callable[[Context], Insights] | None = None,
        *,
        allows_changes: bool,
        over_tls: bool,
        context_of: type[Context] = Context,
    ) -> None:
        """``insights_of``: those of a session; None without a broker that started this console. ``over_tls``: whether
        the listener has TLS. ``context_of``: the class of the sessions' contexts."""
        self._access = access
        self._hosts = hosts
        self._sessions = sessions
        self._page = page
        self._routes = RouteTable(routes)
        self._insights_of = insights_of
        self._allows_changes = allows_changes
        self._over_tls = over_tls
        self._context_of = context_of
        self._bodies = asyncio.Semaphore(MAX_BODIES)

    async def answer(self, request: HttpRequest) -> HttpResponse:
        """Answers one request."""
        try:
            self._check_host(request)
            if not request.path.startswith("/api/"):
                return self._page_response(request)
            self._check_origin(request)
            if request.path in (SESSION_PATH, END_PATH):
                return await self._session_response(request)
            return await self._view_response(request)
        except KNOWN_ERRORS as error:
            return self._failure(error)
        except ConnectionError:
            raise
        except Exception as error:  # a fault of one request ends that request only
            logger.exception("%s of %.200r failed", request.method, request.path)
            return self._failure(error)

    # Checks

    def _check_host(self, request: HttpRequest) -> None:
        if not self._hosts.allows(request.field("host")):
            raise ConsoleError(
                421,
                "this console does not answer to that name; --host-name or odradek.console.host.names adds one",
                "HOST_NOT_ALLOWED",
            )

    def _check_origin(self, request: HttpRequest) -> None:
        """Refuses requests of other pages."""
        if request.field("sec-fetch-site") not in ("", "same-origin", "none"):
            raise ConsoleError(403, "requests of other pages are refused", "CROSS_SITE")
        if request.method == "GET":
            return
        if request.method != "POST":
            raise ConsoleError(405, "GET and POST only", "METHOD_NOT_ALLOWED")
        if not is_own_origin(request.field("origin"), request.field("host"), over_tls=self._over_tls):
            raise ConsoleError(403, "changes are taken from the console's own page only", "CROSS_SITE")
        if request.field(CHANGE_HEADER) != "1":
            raise ConsoleError(403, "the header X-Odradek-Console is missing", "CROSS_SITE")
        if request.field("content-type").partition(";")[0].strip().lower() != "application/json":
            raise ConsoleError(415, "a change is a JSON object", "NOT_JSON")

    def _session(self, request: HttpRequest) -> ConsoleSession:
        session = self._sessions.find(request.field("cookie"))
        if session is None:
            raise ConsoleError(401, "log in first", "NO_SESSION")
        return session

    # The page and the login

    def _page_response(self, request: HttpRequest) -> HttpResponse:
        if request.path != "/":
            raise ConsoleError(404, "the console's page is at /", "NO_SUCH_PATH")
        if request.method not in ("GET", "HEAD"):
            raise ConsoleError(405, "GET only", "METHOD_NOT_ALLOWED")
        headers = (*self._page.headers, *SAFE_HEADERS)
        if request.field("if-none-match") == self._page.etag:
            return HttpResponse(304, headers)
        if takes_gzip(request):
            return HttpResponse(200, (*headers, ("Content-Encoding", "gzip")), self._page.compressed)
        return HttpResponse(200, headers, self._page.html)

    async def _session_response(self, request: HttpRequest) -> HttpResponse:
        cookies = request.field("cookie")
        if request.method == "GET":
            return self._json(200, self._session_facts(self._sessions.find(cookies)))
        if request.path == END_PATH:
            return self._json(200, {"done": "logged out"}, await self._sessions.end(cookies))
        arguments = body_arguments(await self._body(request), {})
        context = await self._log_in(arguments)
        await self._sessions.end(cookies)
        cookie = await self._sessions.open(context)
        logger.info("%r opens a session", context.user)
        return self._json(200, self._facts(context), cookie)

    async def _log_in(self, arguments: ViewArguments) -> Context:
        logged_in = check_login(self._access, arguments)
        context = self._context_of(
            logged_in.client, logged_in.user, self._insights_of, allows_changes=self._allows_changes
        )
        if self._access.kind == KAFKA:
            try:
                await context.connect()  # the brokers check the password
            except BaseException:
                await context.close()
                raise
        return context

    def _session_facts(self, session: ConsoleSession | None) -> Json:
        if session is not None:
            return self._facts(session.context)
        access = self._access
        return {
            "session": False,
            "access": access.kind,
            "mechanisms": list(access.mechanisms),
            "version": __version__,
        }

    def _facts(self, context: Context) -> Json:
        return {
            "session": True,
            "access": self._access.kind,
            "user": context.user,
            "bootstrapServers": context.settings.bootstrap_servers,
            "commandOptions": list(context.settings.command_options),
            "allowsChanges": context.allows_changes,
            "hasInsights": context.insights is not None,
            "version": __version__,
        }

    # Views

    async def _view_response(self, request: HttpRequest) -> HttpResponse:
        session = self._session(request)
        context = session.context
        route, parts = self._routes.find(request.method, request.path)
        if route.method == "POST":
            if not context.allows_changes:
                raise ConsoleError(403, "this console only shows; it was started with --read-only", "READ_ONLY")
            arguments = body_arguments(await self._body(request), parts)
            if arguments.is_confirmed:
                logger.info("%r changes the cluster: POST %.500r", context.user, request.path)
        else:
            arguments = query_arguments(request.query, parts)
        try:
            await context.connect()
            served = route.serve(context, arguments)
            if route.is_stream:
                return self._stream(session, cast("AsyncGenerator[Json, None]", served))
            answered = await cast(Answered, served)
        except AuthenticationError:  # the login was changed or removed since: no later request could succeed
            await self._sessions.end(request.field("cookie"))
            raise
        if isinstance(answered, Attachment):
            return attachment_response(answered)
        return self._json(200, answered, is_compressed=takes_gzip(request))

    async def _body(self, request: HttpRequest) -> bytes:
        try:
            async with self._bodies:
                return await request.read_body(MAX_BODY_BYTES)
        except BodyRefusedError as error:
            raise ConsoleError(
                error.status, str(error), "TOO_LARGE" if error.status == 413 else "BAD_ARGUMENT"
            ) from None

    def _stream(self, session: ConsoleSession, values: AsyncGenerator[Json, None]) -> HttpResponse:
        if session.streams >= MAX_STREAMS:
            raise ConsoleError(429, f"this session has {MAX_STREAMS} streams already: close a tab", "TOO_MANY_STREAMS")
        return HttpResponse(200, STREAM_HEADERS, self._counted(session, values))

    async def _counted(
        self, session: ConsoleSession, values: AsyncGenerator[Json, None]
    ) -> AsyncGenerator[bytes, None]:
        session.streams += 1
        try:
            stream = event_stream(values, self._shown)
            try:
                async for event in stream:
                    yield event
            finally:
                await stream.aclose()
        finally:
            session.streams -= 1

    def _shown(self, error: Exception) -> dict[str, str]:
        if not isinstance(error, KNOWN_ERRORS):
            logger.error("a stream failed", exc_info=error)
        return shown_error(error)[1]

    # Answers

    def _failure(self, error: Exception) -> HttpResponse:
        status, shown = shown_error(error)
        return self._json(status, shown)

    def _json(self, status: int, value: Json, *headers: tuple[str, str], is_compressed: bool = False) -> HttpResponse:
        body = dumped(value).encode()
        more = (("Content-Type", "application/json"), *headers)
        if is_compressed and len(body) >= COMPRESSED_FROM:
            body = gzip.compress(body, 1, mtime=0)
            more = (*more, ("Content-Encoding", "gzip"))
        return HttpResponse(status, (*API_HEADERS, *more), body)


def takes_gzip(request: HttpRequest) -> bool:
    """Whether the client decompresses."""
    return "gzip" in request.field("accept-encoding").lower()


def attachment_response(attachment: Attachment) -> HttpResponse:
    """A file that the browser saves and never shows."""
    safe = "".join(one if one.isascii() and (one.isalnum() or one in "._-") else "_" for one in attachment.file_name)
    headers = (
        *API_HEADERS,
        ("Content-Type", "application/octet-stream"),
        ("Content-Disposition", f'attachment; filename="{safe}"'),
    )
    return HttpResponse(200, headers, attachment.content)
