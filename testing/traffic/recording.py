"""What was recorded: exchanges in their order, in bounded memory, for any thread to look at.

Owns: the exchanges of one recording. Never does: asking the broker. Invariant: what is not kept is never left out
silently: a recording that is full refuses to be looked at.
"""

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..inspection import TIMEOUT_S, run
from .exchange import LazyDocument, RecordedExchange
from .file_format import lines_of, read_lines

if TYPE_CHECKING:
    from .replay_result import ReplayResult

MAX_BYTES = 64 << 20
"""Bytes of requests and answers that a recording keeps unless another limit is given."""
OVERHEAD_BYTES = 1000
"""What an exchange takes besides its bytes, about."""


class RecordingFullError(Exception):
    """A recording has lost requests, because it was full."""


class Traffic:
    """The requests of all clients, each with its answer, in the order in which they came.

    Iterate over it for :class:`RecordedExchange` objects. ``print(traffic)`` shows a line for each. All methods that
    look at it raise RecordingFullError if it was full.
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
        """The requests of these APIs (none: all), by Kafka's names; of one client if ``client_id`` is given."""
        return [
            one
            for one in self._all()
            if (not apis or one.api in apis) and (client_id is None or one.client_id == client_id)
        ]

    def wait_for(self, api: str, count: int = 1, *, timeout_s: float = TIMEOUT_S) -> list[RecordedExchange]:
        """Waits until so many requests of an API have been answered, and returns the answered ones.

        Raises TimeoutError after ``timeout_s`` seconds, with what has come.
        """

        def answered() -> list[RecordedExchange]:
            return [one for one in self.requests(api) if one.answer_step is not None]

        with self._changed:
            if self._changed.wait_for(lambda: len(answered()) >= count, timeout_s):
                return answered()
            raise TimeoutError(
                f"{len(answered())} of {count} {api} requests were answered in {timeout_s:g} s; so far came:\n{self}"
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
                    f"{self._lost} later requests and answers are lost: record less, or give it more max_bytes"
                )
            return list(self._exchanges)

    # --- files

    def save(self, file: str | Path) -> None:
        """Writes it as JSON lines (docs/recording.md has the format)."""
        Path(file).write_text(self.text(), encoding="utf-8")

    def text(self) -> str:
        """The content of the file that :meth:`save` writes."""
        return "".join(f"{line}\n" for line in lines_of(self._all()))

    @classmethod
    def load(cls, file: str | Path) -> "Traffic":
        """Reads a file of :meth:`save`. Raises OSError; ValueError, with the line, for a file that is not one."""
        return cls.parse(Path(file).read_text(encoding="utf-8"), str(file))

    @classmethod
    def parse(cls, text: str, name: str = "traffic") -> "Traffic":
        """Reads the content of such a file; ``name`` is used in errors. Raises ValueError."""
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
        """Sends the requests again, to a broker at ``host:port``, and compares what it answers.

        ``ignore``: what is not compared: APIs (``"ApiVersions"``), fields (``"highWatermark"``) or fields of an API
        (``"Fetch.highWatermark"``). ``timeout_s``: how long to wait for an answer. ``security``: as
        :attr:`ClientSecurity.java`. Raises BrokerConnectionError, AuthenticationError; ValueError for another address.
        """
        from .replay import replay

        coroutine = replay(self._all(), bootstrap_servers, ignore=ignore, timeout_s=timeout_s, security=security)
        return run(coroutine)

    # --- recording, in the broker's thread

    def note_request(self, exchange: RecordedExchange, size: int) -> bool:
        """Adds a request of ``size`` bytes, whose number and step are set here. False if the recording is full."""
        with self._changed:
            if not self._has_room(size):
                return False
            exchange.number = len(self._exchanges) + 1
            exchange.step = self._next_step()
            self._exchanges.append(exchange)
            self._changed.notify_all()
            return True

    def note_answer(self, exchange: RecordedExchange, answer: LazyDocument | None, size: int, now_ms: int) -> None:
        """Adds the answer to a request; None if the client wants none."""
        with self._changed:
            if self._has_room(size):
                exchange.answered = answer
                exchange.answer_ms = now_ms
                exchange.answer_step = self._next_step()
                self._changed.notify_all()

    def note_closed(self, exchange: RecordedExchange, reason: str, now_ms: int) -> None:
        """Notes that the broker closes the connection instead of answering."""
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
