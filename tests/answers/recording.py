"""Notes what a real Kafka was asked and what it answered, for the corpus (``make record``)."""

import contextlib
import copy
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from answers.corpus import LOOKS, Answers, Json, is_not_yet, named
from odradek.protocol.messages.structure import Message
from odradek.protocol.show.message_documents import document

LARGEST_STEP = 20_000
DIRECTORY = "TESTS_RECORD_ANSWERS"
"""The variable with the directory of the files. Without it nothing is recorded."""


class Recording:
    """The questions of one run of tests. Each file of tests has a file of the corpus."""

    def __init__(self) -> None:
        self._steps: dict[str, list[Json]] = {}
        self.idle: list[str] = []
        """Connections without an open request, which the next group may use."""

    def add(self, step: Json) -> None:
        """Notes a step of the test that runs. Of a question of LOOKS that is repeated at once, notes the last."""
        if step.get("api") == "Fetch" and "__consumer_offsets" in str(step["request"]):
            return  # its records have times, and their number depends on the broker
        file, _, test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0].partition("::")
        steps = self._steps.setdefault(Path(file).stem, [])
        scene = "before all" if os.environ["PYTEST_CURRENT_TEST"].endswith("(setup)") else test
        last = steps[-1] if steps else {}
        if (
            step["do"] == last.get("do") == "ask"
            and step["api"] in LOOKS
            and all(last[key] == step[key] for key in ("connection", "api", "version", "request"))
        ):
            steps.pop()
            step |= {"until": True}
        steps.append(copy.deepcopy({"scene": scene, **step}))  # scenes change answers

    def asked(
        self,
        connection: str,
        client: str,
        request: Message,
        version: int,
        answer: Json,
        ignored: Sequence[str] = (),
    ) -> None:
        """Notes a request and its answer. ``ignored``: fields of the answer that are not kept."""
        step = {"do": "ask", **_asked(connection, client, request, version), "answer": answer}
        self.add(step | ({"ignored": list(ignored)} if ignored else {}))

    def answered_later(self, request: Message, version: int, answer: Json) -> None:
        """Replaces the answer to a question that was repeated."""
        question = {
            "api": request.NAME.removesuffix("Request"),
            "version": version,
            "request": document(request, version),
        }
        steps = next(reversed(self._steps.values()))
        step = next(step for step in reversed(steps) if question.items() <= step.items())
        step |= {"answer": copy.deepcopy(answer), "until": True}

    def sent(self, connection: str, request: Message, version: int, client: str = "wire") -> None:
        """Notes a request whose answer comes later."""
        self.add({"do": "send", **_asked(connection, client, request, version)})

    def closed(self, connection: str) -> None:
        """Notes that the client has closed a connection."""
        self.add({"do": "close", "connection": connection})

    def received(self, connection: str, answer: Json) -> None:
        """Notes an answer to an earlier request."""
        self.add({"do": "receive", "connection": connection, "answer": answer})

    def exchanged(self, data: bytes, frames: int, close: bool, answers: list[bytes]) -> None:
        """Notes bytes that were sent on a connection of their own."""
        answered = [frame.hex() for frame in answers]
        self.add({"do": "frames", "bytes": data.hex(), "frames": frames, "close": close, "answer": answered})

    @contextlib.contextmanager
    def repeated(self) -> Iterator[None]:
        """Keeps the last answer to each question of a loop that waits for one."""
        before = {name: len(steps) for name, steps in self._steps.items()}
        yield
        for name, steps in self._steps.items():
            start = before.get(name, 0)
            last = {str([step.get("api"), step.get("request")]): {**step, "until": True} for step in steps[start:]}
            steps[start:] = last.values()

    def write(
        self, directory: Path, kafka: str, configs: dict[str, str], clients: dict[str, Json] | None = None
    ) -> None:
        """Writes the files, without scenes that have a step of more than LARGEST_STEP characters. ``clients``: the
        address and the login of connections, by name."""
        directory.mkdir(parents=True, exist_ok=True)
        for name, steps in self._steps.items():
            large = {step["scene"] for step in steps if len(str(step)) > LARGEST_STEP}
            answered = without_waiting(steps)
            small = [step for step in named(answered) if step["scene"] not in large]
            Answers(kafka, configs, small, clients or {}).write(directory / f"{name}.jsonl")


def without_waiting(steps: list[Json]) -> list[Json]:
    """The steps without those whose answer was to wait, and that were asked again."""
    found: list[Json] = []
    again: dict[str, Json] = {}
    for step in reversed(steps):
        question = str([step.get(key) for key in ("scene", "do", "connection", "api", "version", "request")])
        if step["do"] == "ask" and question in again and is_not_yet(step["answer"]):
            again[question]["until"] = True
            continue
        again[question] = step
        found.append(step)
    return found[::-1]


def _asked(connection: str, client: str, request: Message, version: int) -> dict[str, Any]:
    return {
        "connection": connection,
        "client": client,
        "api": request.NAME.removesuffix("Request"),
        "version": version,
        "request": document(request, version),
    }
