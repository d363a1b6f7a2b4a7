"""What every decision of the controller core gives. Source: Kafka's ControllerResult.

Pure: a decision never changes the image; its records, replayed, do. One that may be large is a generator: each of its
steps takes less than 1 ms, and nothing else changes topics or configs between its steps (``service.py``).
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from ...protocol.errors import ErrorCode, KafkaError
from ...protocol.messages.structure import Message
from ...protocol.steps import Steps

Response = TypeVar("Response")
Named = TypeVar("Named", bound=Hashable)
NAMES_A_STEP = 500
"""Names that one step looks at: below 1 us each."""


@dataclass(slots=True)
class Decision(Generic[Response]):
    """Records to write, all or none of them, and what to answer once they are written."""

    response: Response
    records: list[Message] = field(default_factory=list)


class ApiError(NamedTuple):
    """An error code and its sentence; ``message`` None means that none is said."""

    code: ErrorCode
    message: str | None = None

    @classmethod
    def of(cls, code: ErrorCode, message: str | None = None) -> "ApiError":
        """The error with Kafka's own sentence for the code where none is given."""
        return cls(code, code.message if message is None else message)

    @classmethod
    def from_error(cls, error: KafkaError) -> "ApiError":
        """What a raised error answers: no sentence where it says only what its code says (Kafka's fromThrowable)."""
        return cls(error.error_code, None if error.message == error.error_code.message else error.message)


NO_ERROR = ApiError(ErrorCode.NONE)


def counted(names: Sequence[Named]) -> Steps[Counter[Named]]:
    """How often each of the names of a request stands there."""
    counts: Counter[Named] = Counter()
    for first in range(0, len(names), NAMES_A_STEP):
        counts.update(names[first : first + NAMES_A_STEP])
        yield
    return counts
