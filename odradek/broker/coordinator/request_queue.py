"""The queue of questions to one other broker. A question is one entry of a request that has many.

Pure. Owns: the questions that are not sent yet. Invariants: a request has at most one question for each key (such as a
producer id), because the response tells its entries apart by key alone; questions of one key are sent in order.
Source: ``TxnMarkerQueue``, ``TransactionDataAndCallbacks``, ``PersisterStateManager``.
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
ResponseOf = TypeVar("ResponseOf", bound=Message, contravariant=True)


class Dialect(Protocol[QuestionOf, ResponseOf]):
    """Encodes questions of one kind as a request, and finds the answer to each in the response."""

    def together(self, question: QuestionOf) -> Hashable:
        """Questions with equal results may be in one request; None for all if that does not matter."""

    def request(self, questions: list[QuestionOf]) -> Message:
        """Returns one request that asks all these questions. Their keys differ, so the response can be taken apart."""

    def answers(self, questions: list[QuestionOf], response: ResponseOf) -> list[Callable[[], None]]:
        """Returns a callback for each question, which delivers its answer."""


class RequestQueue(Generic[QuestionOf]):
    """The questions to one broker."""

    def __init__(self, together: Callable[[QuestionOf], Hashable] = lambda _: None) -> None:
        """``together``: see :meth:`Dialect.together`."""
        self._questions: deque[QuestionOf] = deque()
        self._together = together

    def __len__(self) -> int:
        return len(self._questions)

    def put(self, question: QuestionOf) -> None:
        """Adds a question."""
        self._questions.append(question)

    def take(self) -> list[QuestionOf]:
        """Removes the questions of the next request, and returns them."""
        taken: dict[Hashable, QuestionOf] = {}
        left: deque[QuestionOf] = deque()
        passed_over: set[Hashable] = set()
        kind = self._together(self._questions[0]) if self._questions else None
        while self._questions and len(taken) < QUESTIONS_MAX:
            question = self._questions.popleft()
            if question.key in taken or question.key in passed_over or self._together(question) != kind:
                left.append(question)
                passed_over.add(question.key)
            else:
                taken[question.key] = question
        self._questions = left + self._questions
        return list(taken.values())
