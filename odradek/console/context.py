"""What a view works with: the clients of one session, with the rights of its user; and the shape of a view's route.

Owns: the admin client of a session and its end, parts that live as long as the session. Never does: HTTP. Invariant:
nothing connects before the first request of the session.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, TypeAlias, TypeVar, cast

from odradek.client.admin.admin import Admin
from odradek.client.cluster.cluster import Cluster
from odradek.client.security.secured import ConnectionSecurity

from .arguments import ViewArguments

Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None
CLIENT_ID = "odradek-console"


class ClientSettings(NamedTuple):
    """What the clients of a session are made with."""

    bootstrap_servers: str
    security: ConnectionSecurity | None = None
    request_timeout_ms: float = 10_000
    command_options: tuple[str, ...] = ()
    """The options of a command that asks the same cluster: ``--bootstrap-server``, its value, ``--command-config``, its
    value. For the command lines of previews."""


class Insights(Protocol):
    """What only the broker knows: its log, its connections, its rebalances."""

    async def ask(self, name: str, **arguments: Json) -> Json:
        """Asks the broker. ``name``: log, connections or rebalances. Raises ConsoleError if the user may not see it."""


class SessionPart(Protocol):
    """Something that a view keeps for the rest of the session, such as samples of lag."""

    async def close(self) -> None:
        """Ends its tasks."""


Part = TypeVar("Part", bound=SessionPart)


class Context:
    """One logged-in session."""

    def __init__(
        self,
        settings: ClientSettings,
        user: str = "",
        insights_of: Callable[["Context"], Insights] | None = None,
        *,
        allows_changes: bool = True,
    ) -> None:
        """``user``: the name that the user has logged in with; empty without a login. ``insights_of``: makes
        the session's insights; None if no broker has started this console."""
        self.settings = settings
        self.user = user
        self.insights = None if insights_of is None else insights_of(self)
        """What only the broker knows; None if the cluster is another one's."""
        self.allows_changes = allows_changes
        self.admin = Admin(
            settings.bootstrap_servers,
            client_id=CLIENT_ID,
            security=settings.security,
            request_timeout_ms=settings.request_timeout_ms,
            connection_timeout_ms=settings.request_timeout_ms,
            default_api_timeout_ms=settings.request_timeout_ms,
        )
        self._parts: dict[object, SessionPart] = {}
        self._connecting = asyncio.Lock()
        self._is_connected = False

    @property
    def cluster(self) -> Cluster:
        """The connections and the metadata of the admin client, for requests that it has no method for."""
        return self.admin.cluster

    async def connect(self) -> None:
        """Connects if nothing has yet. Raises ClientError."""
        async with self._connecting:
            if not self._is_connected:
                await self.cluster.start()
                self._is_connected = True

    def part(self, kind: Callable[["Context"], Part]) -> Part:
        """The session's part of this kind, such as ``context.part(LagHistory)``. The first call makes it."""
        made = self._parts.get(kind)
        if made is None:
            made = self._parts[kind] = kind(self)
        return cast(Part, made)

    async def close(self) -> None:
        """Ends the parts, and closes the connections."""
        for part in self._parts.values():
            await part.close()
        self._parts.clear()
        await self.admin.stop()


@dataclass(frozen=True, slots=True)
class Attachment:
    """An answer that the browser saves as a file, instead of JSON."""

    file_name: str
    content: bytes


Answered = Awaitable[Json | Attachment]
Streamed = AsyncGenerator[Json, None]
View = Callable[[Context, ViewArguments], Answered | Streamed]


@dataclass(frozen=True)
class ViewRoute:
    """One entry of the table in :mod:`.routes`."""

    method: Literal["GET", "POST"]
    """POST changes something; GET never does. A POST is refused if the session does not allow changes."""
    path: str
    """Begins with ``/api/``. ``{name}`` is one part of the path, percent-decoded, and an argument of the view."""
    serve: View
    """A coroutine function, or an async generator function for a stream."""
    is_stream: bool = False
    """Whether it is answered as ``text/event-stream``, one ``data:`` line of JSON for each value."""
