"""Puts the questions of the corpus to any broker, in pure Python, and compares its answers with Kafka's.

    cd tests && python -m answers.replay 9092 answers/kafka/test_traps_fetch.jsonl

The broker listens on this port of 127.0.0.1, is empty, and has the configs of the file's header, which are printed.
"""

import socket
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from answers.corpus import LOOKS, Answers, Json, Names, compared, is_not_yet, read
from answers.plain_line import PlainLine, next_frame, opened
from odradek.protocol.messages import message_class
from odradek.protocol.messages.groups import FindCoordinatorRequest, OffsetFetchRequest
from odradek.protocol.messages.metadata import ApiVersionsRequest
from odradek.protocol.messages.structure import Message
from odradek.protocol.messages.transactions import InitProducerIdRequest
from odradek.protocol.show.message_documents import read_document

REPEATED = LOOKS | {"Heartbeat"}
"""A heartbeat that is answered early is sent again: a broker may read a new connection after those that it has."""
PATIENCE_S = 10.0
START_S = 60.0
SILENCE_MS = 2_000
"""The time without an answer that counts as one that does not come."""


@dataclass
class Difference:
    """A step that a broker answers in another way than Kafka."""

    number: int
    step: Json
    answer: Any

    def __str__(self) -> str:
        step = self.step
        asked = f"{step.get('api', 'a frame')} version {step.get('version', '')}: {step.get('request')}"
        return (
            f"step {self.number}, {step['scene']}: {asked}\n"
            f"  Kafka: {compared(step['answer'])}\n  here:  {compared(self.answer)}"
        )


class Replay:
    """Connections to one broker, and its ids."""

    def __init__(self, port: int, clients: Mapping[str, Mapping[str, str]] | None = None) -> None:
        """``clients``: as for :class:`PlainLine`. The first of them may do everything."""
        self._port = port
        self._line = PlainLine(clients)
        self._first = next(iter(clients or {}), "first")
        self._names = Names()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._line.__exit__(kind, error, trace)

    def differences(self, answers: Answers) -> list[Difference]:
        """Puts all questions in order. Returns the steps that were answered differently.

        First waits until the broker coordinates groups and has ids for producers, as it did when they were recorded.
        """
        self._until_it_answers(FindCoordinatorRequest("readers"), 2)
        self._until_it_answers(OffsetFetchRequest("readers"), 7)
        self._until_it_answers(InitProducerIdRequest(None, 1000), 0)
        found = []
        for number, step in enumerate(answers.steps, 1):
            answer = self._answer(step)
            if not self._is_same(step, answer):
                found.append(Difference(number, step, self._names.named(answer)))
        return found

    def _until_it_answers(self, request: Message, version: int) -> None:
        deadline = time.monotonic() + START_S
        while code := self._line.ask(self._port, request, version, self._first)["body"]["errorCode"]:
            assert time.monotonic() < deadline, f"{request.NAME} is answered with error {code}"

    def _answer(self, step: Json) -> Any:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            answer = self._once(step)
            if step["do"] != "frames" and answer:
                self._names.learn(step["answer"], answer)
            may_repeat = step["do"] == "ask" and (step.get("until") or step["api"] in REPEATED or is_not_yet(answer))
            if not may_repeat or self._is_same(step, answer) or time.monotonic() > deadline:
                return answer

    def _is_same(self, step: Json, answer: Any) -> bool:
        ignored = step.get("ignored", ())
        return bool(compared(step.get("answer", {}), ignored) == compared(self._names.named(answer), ignored))

    def _once(self, step: Json) -> Any:
        if step["do"] == "frames":
            return self._frames(step)
        if step["do"] == "close":
            self._line.close(self._port, step["connection"])
            return {}
        if step["do"] == "receive":
            wait = {"wait_ms": SILENCE_MS} if "timeout" in step["answer"] else {}
            return self._line.receive(self._port, step["connection"], **wait)
        request_class = message_class(f"{step['api']}Request")
        request = read_document(request_class, step["version"], self._names.real(step["request"]))
        self._line.send(self._port, request, step["version"], step["connection"], step["client"])
        if step["do"] == "ask":
            return self._line.receive(self._port, step["connection"])
        self._until_it_is_read()
        return {}

    def _until_it_is_read(self) -> None:
        """Waits until the broker has begun with what was sent before, on any connection: it could read the next request
        of another connection first, and handles what comes between two answers in any order."""
        for _ in range(2):
            self._line.ask(self._port, ApiVersionsRequest(), 0, "between")

    def _frames(self, step: Json) -> list[str]:
        """Sends bytes on a connection of their own. Returns the frames of the answers, fewer if it is closed."""
        found: list[str] = []
        with opened(self._port) as connection:
            try:
                connection.sendall(bytes.fromhex(step["bytes"]))
                if step["close"]:
                    connection.shutdown(socket.SHUT_WR)
                while len(found) < step["frames"]:
                    found.append(next_frame(connection).hex())
            except (EOFError, ConnectionError):
                return found
        return found


def main(arguments: list[str]) -> int:
    """Prints the differences of a broker. Returns 1 if there are any."""
    port, *paths = arguments
    code = 0
    for path in paths:
        answers = read(Path(path))
        print(f"{path}: {len(answers.steps)} steps, Apache Kafka {answers.kafka} with {answers.configs}")
        with Replay(int(port), answers.clients) as replay:
            for difference in replay.differences(answers):
                print(difference)
                code = 1
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
