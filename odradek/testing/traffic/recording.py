"""One recording: the exchanges in their order, in bounded memory; any thread may read it.

Owns: the exchanges of one recording. Never does: calls to the broker. Invariant: no exchange is missing silently: a
recording that has lost any, because it was full, raises an error when it is read.
"""

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from odradek.protocol.common.lazy_imports import lazy_imports

from ..inspection import TIMEOUT_S, run
from .exchange import LazyDocument, RecordedExchange
from .file_format import lines_of, read_lines

with lazy_imports:
    from . import replay

if TYPE_CHECKING:
    from .replay import ReplayResult

MAX_BYTES = 64 << 20
"""The default limit of a recording, in bytes of its requests and answers with their overhead."""
OVERHEAD_BYTES = 1000
"""The memory of a request or an answer besides its bytes, estimated."""


class RecordingFullError(Exception):
    """A recording has lost requests or answers, because it was full."""


class Traffic:
    """The requests of all clients, each with its answer, in the order in which they came.

    Iterate over it for :class:`RecordedExchange` objects. ``print(traffic)`` shows a line for each. All methods that
    read it raise RecordingFullError if it has lost requests or answers.
    """

    def __init__(self, max_bytes: int = MAX_BYTES, exchanges: Sequence[RecordedExchange] = ()) -> None:
        self._max_bytes = max_bytes
        self._exchanges = list(exchanges)
        self._bytes = 0
        self._steps = 0
        self._lost = 0
        self._changed = threading.Condition()

    # --- looking at it

    def requests(self, *apis: str, client_id: str | None = None) -> list[RecordedExchange]:
        """The requests of the named APIs, or of all APIs if none is named; only of one client with ``client_id``."""
        return [
            exchange
            for exchange in self._all()
            if (not apis or exchange.api in apis) and (client_id is None or exchange.client_id == client_id)
        ]

    def wait_for(self, api: str, count: int = 1, *, timeout_s: float = TIMEOUT_S) -> list[RecordedExchange]:
        """Waits until ``count`` requests of an API have been answered, and returns all answered ones.

        Raises TimeoutError after ``timeout_s`` seconds, with the recording so far.
        """

        def answered() -> list[RecordedExchange]:
            return [request for request in self.requests(api) if request.answer_step is not None]

        with self._changed:
            if self._changed.wait_for(lambda: len(answered()) >= count, timeout_s):
                return answered()
            raise TimeoutError(
                f"only {len(answered())} of {count} {api} requests were answered within {timeout_s:g} s;"
                f" recorded so far:\n{self}"
            )

    def __iter__(self) -> Iterator[RecordedExchange]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __str__(self) -> str:
        return "\n".join(map(str, self._all())) or "(no requests)"

    def _all(self) -> list[RecordedExchange]:
        with self._changed:
            if self._lost:
                raise RecordingFullError(
                    f"the recording was full after {len(self._exchanges)} requests ({self._max_bytes} bytes); "
                    f"{self._lost} later requests and answers are lost: record fewer requests, or raise max_bytes"
                )
            return list(self._exchanges)

    # --- files

    def save(self, file: str | Path) -> None:
        """Writes the recording to a file, as JSON lines (the format is in docs/recording.md)."""
        Path(file).write_text(self.text(), encoding="utf-8")

    def text(self) -> str:
        """The content of the file that :meth:`save` writes."""
        return "".join(f"{line}\n" for line in lines_of(self._all()))

    @classmethod
    def load(cls, file: str | Path) -> "Traffic":
        """Reads a file that :meth:`save` wrote. Raises OSError; ValueError with the number of a wrong line."""
        return cls.parse(Path(file).read_text(encoding="utf-8"), str(file))

    @classmethod
    def parse(cls, text: str, name: str = "traffic") -> "Traffic":
        """Parses the text of a recording file; ``name`` is the file's name in error messages. Raises ValueError."""
        return cls(exchanges=read_lines(text.splitlines(), name))

    # --- replaying it

    def replay(
        self,
        bootstrap_servers: str,
        *,
        ignore: Collection[str] = (),
        timeout_s: float = TIMEOUT_S,
        security: Mapping[str, str] | None = None,
    ) -> "ReplayResult":
        """Sends the requests again, to a broker at ``host:port``, and compares its answers with the recorded ones.

        ``ignore``: APIs (``"ApiVersions"``), fields (``"highWatermark"``) or fields of an API
        (``"Fetch.highWatermark"``) that are not compared. ``timeout_s``: how long to wait for each answer, in seconds.
        ``security``: the client's properties, in the form of :attr:`ClientSecurity.java`. Requests that can't be sent,
        because a connection or login fails, for example, are in :attr:`ReplayResult.skipped`. Raises ValueError if the
        address is not ``host:port``.
        """
        coroutine = replay.replay(self._all(), bootstrap_servers, ignore=ignore, timeout_s=timeout_s, security=security)
        return run(coroutine)

    # --- recording, in the broker's thread

    def note_request(self, exchange: RecordedExchange, size: int) -> bool:
        """Adds a request of ``size`` bytes, and sets its number and step. Returns False if the recording is full."""
        with self._changed:
            if not self._has_room(size):
                return False
            exchange.number = len(self._exchanges) + 1
            exchange.step = self._next_step()
            self._exchanges.append(exchange)
            self._changed.notify_all()
            return True

    def note_answer(self, exchange: RecordedExchange, answer: LazyDocument | None, size: int, now_ms: int) -> None:
        """Adds the answer to a request, of ``size`` bytes; None if the client expects no answer."""
        with self._changed:
            if self._has_room(size):
                exchange.answered = answer
                exchange.answer_ms = now_ms
                exchange.answer_step = self._next_step()
                self._changed.notify_all()

    def note_closed(self, exchange: RecordedExchange, reason: str, now_ms: int) -> None:
        """Records that the broker closes the connection instead of answering."""
        with self._changed:
            exchange.closed = reason
            exchange.answer_ms = now_ms
            exchange.answer_step = self._next_step()
            self._changed.notify_all()

    def _has_room(self, size: int) -> bool:
        needed = size + OVERHEAD_BYTES
        if self._lost or self._bytes + needed > self._max_bytes:
            self._lost += 1
            self._changed.notify_all()
            return False
        self._bytes += needed
        return True

    def _next_step(self) -> int:
        self._steps += 1
        return self._steps
