"""The result of a decision of the controller core. Source: Kafka's ControllerResult.

Pure: a decision never changes the image; replaying its records does. A decision that may be large is a generator: each
step takes less than 1 ms, and nothing else changes topics or configs between the steps (``service.py``).
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.structure import Message

Response = TypeVar("Response")
Named = TypeVar("Named", bound=Hashable)
NAMES_A_STEP = 500
"""The number of names in one step: below 1 us each."""


@dataclass(slots=True)
class Decision(Generic[Response]):
    """Records to write, all or none of them, and the answer after the write."""

    response: Response
    records: list[Message] = field(default_factory=list)


class ApiError(NamedTuple):
    """An error code and its message, which may be None."""

    code: ErrorCode
    message: str | None = None

    @classmethod
    def of(cls, code: ErrorCode, message: str | None = None) -> "ApiError":
        """The error with the given message, or with Kafka's own for the code."""
        return cls(code, code.message if message is None else message)

    @classmethod
    def from_error(cls, error: KafkaError) -> "ApiError":
        """The answer for a raised error: without a message if that is only the code's own (Kafka's fromThrowable)."""
        return cls(error.error_code, None if error.message == error.error_code.message else error.message)


NO_ERROR = ApiError(ErrorCode.NONE)


def counted(names: Sequence[Named]) -> Steps[Counter[Named]]:
    """Counts how often each name occurs in a request."""
    counts: Counter[Named] = Counter()
    for first in range(0, len(names), NAMES_A_STEP):
        counts.update(names[first : first + NAMES_A_STEP])
        yield
    return counts
