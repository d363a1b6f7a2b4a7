"""One way into the console: a method, a path, and the view that answers."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from .arguments import ViewArguments
from .context import Context, Json


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
