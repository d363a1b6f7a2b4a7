"""The order in which questions to one other broker are sent: many in a request, one of each producer.

Pure. Owns: the questions that are not sent yet. Invariants: a request has at most one question of a key, since an
answer names no more than that; questions of one key keep their order. Source: ``TxnMarkerQueue``,
``TransactionDataAndCallbacks``.
"""

from collections import deque
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar

from ...protocol.errors import ErrorCode
from ...protocol.messages.structure import Message

QUESTIONS_MAX = 500
"""The number of questions in one request. The others wait for the next."""


class Question(Protocol):
    """A part of a request. ``failed`` is called if no answer came."""

    @property
    def key(self) -> Hashable:
        """What its answer names."""

    @property
    def failed(self) -> Callable[[ErrorCode], None]:
        """Called with NETWORK_EXCEPTION if the other broker can't be reached, or did not answer in time; with
        UNKNOWN_SERVER_ERROR if this broker has failed to ask.
        """


QuestionOf = TypeVar("QuestionOf", bound=Question)
ResponseOf = TypeVar("ResponseOf", bound=Message)


class Dialect(Protocol[QuestionOf, ResponseOf]):
    """How the questions of one kind are put into a request, and taken out of its response."""

    @property
    def response_type(self) -> type[ResponseOf]:
        """The class of the response."""

    def request(self, questions: list[QuestionOf]) -> Message:
        """Returns one request that asks all these questions. Their keys differ, so the response can be taken apart."""

    def answers(self, questions: list[QuestionOf], response: ResponseOf) -> list[Callable[[], None]]:
        """For each question a call that gives it its part of the response."""


class RequestQueue(Generic[QuestionOf]):
    """The questions to one broker."""

    def __init__(self) -> None:
        self._questions: deque[QuestionOf] = deque()

    def __len__(self) -> int:
        return len(self._questions)

    def put(self, question: QuestionOf) -> None:
        """Adds a question."""
        self._questions.append(question)

    def take(self) -> list[QuestionOf]:
        """Removes the questions of the next request, and returns them."""
        taken: dict[Hashable, QuestionOf] = {}
        left: deque[QuestionOf] = deque()
        while self._questions and len(taken) < QUESTIONS_MAX:
            question = self._questions.popleft()
            if question.key in taken:
                left.append(question)
            else:
                taken[question.key] = question
        self._questions = left + self._questions
        return list(taken.values())
