"""One console that runs: the HTTP server, the sessions, and the end of unused ones.

Owns: start and stop. Never does: answering.
"""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Sequence
from typing import NamedTuple

from odradek.broker.http.connection import HttpLimits
from odradek.broker.http.messages import HttpService
from odradek.broker.http.server import HttpServer, OverTls

from ..context import Context, Insights
from ..routes import ROUTES
from .app import ConsoleApp
from .hosts import AllowedHosts
from .login import ConsoleAccess
from .page_files import read_page
from .sessions import Sessions

LIMITS = HttpLimits(head_bytes=16_384, max_idle_s=60.0)
LOOK_S = 60.0
"""The seconds between two looks for sessions to end."""
UNUSED_S = 600.0
"""The seconds without a session after which a console is unused."""


class ConsoleSettings(NamedTuple):
    """What a console is made with."""

    access: ConsoleAccess
    listener_host: str
    """The host of the listener as it was configured."""
    host_names: tuple[str, ...] = ()
    allows_changes: bool = True
    over_tls: OverTls | None = None
    insights_of: Callable[[Context], Insights] | None = None


class ConsoleServer:
    """Listens from `start` to `stop`."""

    def __init__(self, settings: ConsoleSettings) -> None:
        self._settings = settings
        self._server: HttpServer | None = None
        self._sessions: Sessions | None = None
        self._looking: asyncio.Task[None] | None = None
        self.unused = asyncio.Event()
        """Set when there was no session for UNUSED_S."""
        self.port = 0
        """The bound port."""

    async def start(self, sockets: Sequence[socket.socket]) -> None:
        """Serves the connections of sockets that listen already. Raises OSError."""
        settings = self._settings
        self.port = sockets[0].getsockname()[1]
        over_tls = settings.over_tls
        loop = asyncio.get_running_loop()
        cookie = f"odradek_console_{self.port}"
        self._sessions = Sessions(cookie, loop.time, is_secure=over_tls is not None)
        app = ConsoleApp(
            settings.access,
            AllowedHosts(settings.listener_host, settings.host_names),
            self._sessions,
            read_page(),
            ROUTES,
            settings.insights_of,
            allows_changes=settings.allows_changes,
            over_tls=over_tls is not None,
        )
        self._server = HttpServer(HttpService(app.answer, "console"), LIMITS, over_tls=over_tls)
        for listening in sockets:
            await self._server.start_on(listening)
        self._looking = loop.create_task(self._end_idle_sessions(self._sessions))

    async def stop(self) -> None:
        """Closes the listener and ends all sessions."""
        if self._server is not None:
            self._server.stop()
        if self._looking is not None:
            self._looking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._looking
        if self._sessions is not None:
            await self._sessions.end_all()

    async def _end_idle_sessions(self, sessions: Sessions) -> None:
        unused_s = 0.0
        while True:
            await asyncio.sleep(LOOK_S)
            await sessions.end_idle()
            unused_s = 0.0 if len(sessions) else unused_s + LOOK_S
            if unused_s >= UNUSED_S:
                self.unused.set()
