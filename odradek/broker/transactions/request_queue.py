"""The queue of questions to one other broker. A question is one entry of a request that has many.

Pure. Owns: the questions that are not sent yet. Invariants: a request has at most one question for each key (producer
id or transactional id), because the response tells its entries apart by key alone; questions of one key are sent in
order. Source: ``TxnMarkerQueue``, ``TransactionDataAndCallbacks``.
"""

from collections import deque
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar

from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.structure import Message

QUESTIONS_MAX = 500
"""The most questions in one request. The others wait for the next request."""


class Question(Protocol):
    """One entry of a request, with the callbacks for its answer."""

    @property
    def key(self) -> Hashable:
        """Identifies the question's entry in the response."""

    @property
    def failed(self) -> Callable[[ErrorCode], None]:
        """Is called if the question gets no answer: with NETWORK_EXCEPTION if the other broker could not be reached or
        did not answer in time; with UNKNOWN_SERVER_ERROR after an unexpected exception in this broker.
        """


QuestionOf = TypeVar("QuestionOf", bound=Question)
ResponseOf = TypeVar("ResponseOf", bound=Message)


class Dialect(Protocol[QuestionOf, ResponseOf]):
    """Encodes questions of one kind as a request, and finds the answer to each in the response."""

    @property
    def response_type(self) -> type[ResponseOf]:
        """The class of the response."""

    def request(self, questions: list[QuestionOf]) -> Message:
        """Returns one request that asks all these questions. Their keys differ, so the response can be taken apart."""

    def answers(self, questions: list[QuestionOf], response: ResponseOf) -> list[Callable[[], None]]:
        """Returns a callback for each question, which delivers its answer."""


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
