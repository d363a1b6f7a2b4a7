"""The sessions of the console: who is logged in, by cookie.

Owns: the sessions, their number and their end. Never does: checking a login. Invariants: a session's key is a random
cookie that no script reads; at most MAX_SESSIONS live, and another one takes the place of the one that was unused for
the longest time; an unused session ends after IDLE_S.
"""

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from ..context import Context

MAX_SESSIONS = 32
IDLE_S = 3600.0
MAX_STREAMS = 8
"""The most event streams of a session. A browser opens six connections at most to one origin."""


@dataclass(eq=False)
class ConsoleSession:
    """One login."""

    context: Context
    used_at_s: float
    streams: int = 0
    """The number of its event streams."""


class Sessions:
    """The sessions of one console, by cookie."""

    def __init__(self, cookie_name: str, clock_s: Callable[[], float], *, is_secure: bool) -> None:
        """``clock_s``: a monotonic clock in seconds. ``is_secure``: whether cookies are for TLS only."""
        self._cookie_name = cookie_name
        self._clock_s = clock_s
        self._attributes = "; Path=/; HttpOnly; SameSite=Strict" + ("; Secure" if is_secure else "")
        self._by_key: dict[str, ConsoleSession] = {}

    def __len__(self) -> int:
        return len(self._by_key)

    async def open(self, context: Context) -> tuple[str, str]:
        """Adds a session. Returns the header ``Set-Cookie`` of its answer."""
        await self.end_idle()
        while len(self._by_key) >= MAX_SESSIONS:
            await self._end(min(self._by_key, key=lambda key: self._by_key[key].used_at_s))
        key = secrets.token_urlsafe(32)
        self._by_key[key] = ConsoleSession(context, self._clock_s())
        return "Set-Cookie", f"{self._cookie_name}={key}{self._attributes}"

    def find(self, cookies: str) -> ConsoleSession | None:
        """The session of a ``Cookie`` header, which counts as used now."""
        session = self._by_key.get(self._key_in(cookies))
        if session is not None:
            session.used_at_s = self._clock_s()
        return session

    async def end(self, cookies: str) -> tuple[str, str]:
        """Ends the session of a ``Cookie`` header, if there is one. Returns the header that removes the cookie."""
        await self._end(self._key_in(cookies))
        return "Set-Cookie", f"{self._cookie_name}=; Max-Age=0{self._attributes}"

    async def end_idle(self) -> None:
        """Ends the sessions that were unused for IDLE_S. One with an open stream is in use."""
        oldest_s = self._clock_s() - IDLE_S
        for key in [key for key, one in self._by_key.items() if one.used_at_s < oldest_s and not one.streams]:
            await self._end(key)

    async def end_all(self) -> None:
        """Ends every session."""
        await asyncio.gather(*(self._end(key) for key in list(self._by_key)))

    async def _end(self, key: str) -> None:
        session = self._by_key.pop(key, None)
        if session is not None:
            await session.context.close()

    def _key_in(self, cookies: str) -> str:
        for one in cookies.split(";"):
            name, _, value = one.strip().partition("=")
            if name == self._cookie_name:
                return value
        return ""
