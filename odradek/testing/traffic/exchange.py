"""One request that was recorded, and its answer. Pure."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from odradek.protocol.apis.api_keys import api
from odradek.protocol.errors import ErrorCode
from odradek.protocol.show.message_documents import Document


class LazyDocument:
    """A document that is decoded when it is first read, so that recording only copies bytes."""

    __slots__ = ("_document", "_make")

    def __init__(self, make: Callable[[], Document]) -> None:
        self._make: Callable[[], Document] | None = make
        self._document: Document = {}

    def get(self) -> Document:
        """The document."""
        make = self._make
        if make is not None:
            self._document = make()
            self._make = None
        return self._document


@dataclass(slots=True)
class RecordedExchange:
    """A request of a client, and the broker's answer or the reason why there is none.

    ``number`` and ``connection`` number the requests and the connections of a recording, from 1. ``time_ms`` and
    ``answer_ms`` are the times of request and answer by the broker's clock, in ms since the epoch.
    """

    number: int
    connection: int
    client_id: str | None
    api_key: int
    version: int
    time_ms: int
    step: int
    """The place of the request among all requests and answers of the recording."""
    sent: LazyDocument = field(repr=False)
    answered: LazyDocument | None = field(default=None, repr=False)
    answer_ms: int | None = None
    answer_step: int | None = None
    """The place of the answer in the same order, or of the end of a request without an answer; None before that."""
    closed: str | None = None
    """The reason if the broker closed the connection instead of answering, else None."""

    @property
    def api(self) -> str:
        """Kafka's name of the API, such as ``"Produce"``."""
        return api(self.api_key).name

    @property
    def request(self) -> Document:
        """The request as a document with Kafka's field names. Records are decoded."""
        return self.sent.get()

    @property
    def response(self) -> Document | None:
        """The answer in the same form; None if there is none (see :attr:`closed`)."""
        return None if self.answered is None else self.answered.get()

    @property
    def errors(self) -> list[str]:
        """The names of the errors in the answer, such as ``"NOT_LEADER_OR_FOLLOWER"``; empty without any."""
        codes = dict.fromkeys(_error_codes(self.response))
        return [error_name(code) for code in codes if code]

    def __str__(self) -> str:
        """One line: the request, its client, and the outcome."""
        if self.closed is not None:
            end = f"connection closed: {self.closed}"
        elif self.answered is None:
            end = "not answered" if self.answer_step is None else "no answer expected"
        else:
            end = ", ".join(self.errors) or "ok"
        return f"#{self.number} {self.api} v{self.version}, connection {self.connection} ({self.client_id}): {end}"


def is_error(field: str) -> bool:
    """Whether a field of an answer holds an error code (``errorCode``, ``partitionErrorCode``)."""
    return field.endswith(("errorCode", "ErrorCode"))


def error_name(code: int) -> str:
    """The name of an error code; the number as text if the code is unknown."""
    try:
        return ErrorCode(code).name
    except ValueError:
        return str(code)


def _error_codes(shown: Any) -> Iterator[int]:
    if isinstance(shown, dict):
        for name, value in shown.items():
            if is_error(name) and isinstance(value, int):
                yield value
            else:
                yield from _error_codes(value)
    elif isinstance(shown, list):
        for item in shown:
            yield from _error_codes(item)
