"""The same random questions to ours and to a real Kafka: equal answers, or a finding.

Everything is drawn from one seed; a difference prints the question and both answers, and the line that asks again:
``PARITY_SEED=<seed> PARITY_COUNT=<n> pytest tests/parity``.
"""

import base64
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.messages import to_json
from support.our_broker import OurBroker
from support.real_kafka import RealKafka
from support.wire import Wire

from odradek.broker.served import LOWEST_SERVED, SERVED, served_versions
from odradek.protocol.messages.groups import FindCoordinatorRequest, OffsetFetchRequest
from odradek.protocol.messages.metadata import ApiVersionsRequest, MetadataRequest
from odradek.protocol.messages.offsets import ListOffsetsRequest
from odradek.protocol.messages.structure import Message
from odradek.protocol.messages.transactions import InitProducerIdRequest
from parity.questions import GROUPS, Questions
from parity.world import Names, comparable

pytestmark = pytest.mark.java

SAME_KEYS = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "3",
    "auto.create.topics.enable": "false",
}


class TwoBrokers:
    """Ours and Kafka, and the program that asks them."""

    def __init__(self, wire: Wire, ours: Names, kafka: Names) -> None:
        self.wire = wire
        self.ours = ours
        self.kafka = kafka
        self._kafka_versions = self._versions(kafka)
        self._wait_until_the_offsets_topic_is_there()
        while self.wire.ask(kafka.port, InitProducerIdRequest(None, 1000), 0)["body"]["errorCode"]:
            pass  # its first block of producer ids is on its way

    def _versions(self, names: Names) -> dict[int, tuple[int, int]]:
        body = self.wire.ask(names.port, ApiVersionsRequest("wire", "1"), 3)["body"]
        return {entry["apiKey"]: (entry["minVersion"], entry["maxVersion"]) for entry in body["apiKeys"]}

    def versions(self, request: type[Message]) -> tuple[int, int]:
        """What both serve of an API. Produce below 3 is announced by Kafka for librdkafka's sake, not served."""
        lowest, highest = served_versions(request.API_KEY)
        kafka_lowest, kafka_highest = self._kafka_versions[request.API_KEY]
        return max(lowest, kafka_lowest, 3 if request.API_KEY == 0 else 0), min(highest, kafka_highest)

    def ask(self, question: tuple[int, Any]) -> tuple[Message, Any, Any]:
        """Our answer and Kafka's."""
        version, make = question
        answers = []
        for names in (self.ours, self.kafka):
            request = make(names)
            answer = self.wire.ask(names.port, request, version)
            self._learn(names, request, answer)
            answers.append(answer)
        if make(self.ours).NAME in CHANGES_METADATA:
            self._wait_until_both_see_the_same_topics()
        return make(self.ours), answers[0], answers[1]

    def _learn(self, names: Names, request: Message, answer: Any) -> None:
        body = answer.get("body", {})
        if request.NAME == "JoinGroupRequest" and body.get("memberId"):
            names.members[request.group_id] = body["memberId"]  # type: ignore[attr-defined]
            if body.get("generationId", -1) >= 0:
                names.generations[request.group_id] = body["generationId"]  # type: ignore[attr-defined]
        if request.NAME == "LeaveGroupRequest":
            names.members.pop(request.group_id, None)  # type: ignore[attr-defined]

    def _topics(self, names: Names) -> dict[str, list[tuple[int, int]]]:
        body = self.wire.ask(names.port, MetadataRequest(topics=None), 12)["body"]
        topics = [topic for topic in body["topics"] if not topic["isInternal"]]
        names.topic_ids = {t["name"]: base64.urlsafe_b64decode(t["topicId"] + "==") for t in topics}
        return {t["name"]: sorted((p["partitionIndex"], p["leaderId"]) for p in t["partitions"]) for t in topics}

    def _wait_until_both_see_the_same_topics(self) -> None:
        """Kafka's broker learns of changes a little after its controller has answered; ours at once."""
        deadline = time.monotonic() + 10
        while self._topics(self.ours) != self._topics(self.kafka):
            assert time.monotonic() < deadline, (self._topics(self.ours), self._topics(self.kafka))
        while not self._kafka_leads_everything():
            assert time.monotonic() < deadline, "Kafka leads not all of its partitions"

    def _kafka_leads_everything(self) -> bool:
        topics = [
            ListOffsetsRequest.ListOffsetsTopic(
                name, [ListOffsetsRequest.ListOffsetsPartition(partition_index=index, timestamp=-1) for index, _ in led]
            )
            for name, led in self._topics(self.kafka).items()
        ]
        body = self.wire.ask(self.kafka.port, ListOffsetsRequest(-1, 0, topics), 2)["body"]
        return not any(partition["errorCode"] for topic in body["topics"] for partition in topic["partitions"])

    def _wait_until_the_offsets_topic_is_there(self) -> None:
        """Ours has it from the start; Kafka makes it when a group is first looked for."""
        deadline = time.monotonic() + 30
        for names in (self.ours, self.kafka):
            for group in GROUPS:
                request = OffsetFetchRequest(group)
                while (
                    self._coordinator_error(names, group) or self.wire.ask(names.port, request, 7)["body"]["errorCode"]
                ):
                    assert time.monotonic() < deadline, f"no coordinator of {group}"

    def _coordinator_error(self, names: Names, group: str) -> int:
        found = self.wire.ask(names.port, FindCoordinatorRequest(group), 2)["body"]
        return int(found["errorCode"] or self.wire.ask(names.port, OffsetFetchRequest(group), 7)["body"]["errorCode"])


CHANGES_METADATA = {
    "CreateTopicsRequest",
    "DeleteTopicsRequest",
    "CreatePartitionsRequest",
    "MetadataRequest",
    "IncrementalAlterConfigsRequest",
    "AlterConfigsRequest",
}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoBrokers]:
    kafka_directory: Path = tmp_path_factory.mktemp("kafka")
    with (
        Wire() as wire,
        OurBroker(tmp_path_factory.mktemp("ours"), SAME_KEYS) as ours,
        RealKafka(kafka_directory, SAME_KEYS) as kafka,
    ):
        yield TwoBrokers(wire, Names(ours.port), Names(kafka.port))


def run(both: TwoBrokers, seed: int, count: int) -> None:
    questions = Questions(seed, both.versions)
    differences = []
    opening = questions.opening()
    for number in range(count):
        question = opening[number] if number < len(opening) else questions.next()
        request, ours, kafka = both.ask(question)
        if comparable(ours) != comparable(kafka):
            differences.append(
                f"question {number}: {request.NAME} version {question[0]}: {to_json(request, question[0])}\n"
                f"  ours:  {comparable(ours)}\n  Kafka: {comparable(kafka)}"
            )
            if len(differences) >= 10:
                break
    again = f"PARITY_SEED={seed} PARITY_COUNT={count} pytest {os.path.relpath(__file__)}"
    assert not differences, "\n".join([*differences, again])


def test_the_same_random_questions(both: TwoBrokers) -> None:
    run(both, int(os.environ.get("PARITY_SEED", "1")), int(os.environ.get("PARITY_COUNT", "300")))


@pytest.mark.ci
def test_two_thousand_random_questions(both: TwoBrokers) -> None:
    run(both, 2, 2_000)


@pytest.mark.long
def test_fifty_thousand_random_questions(both: TwoBrokers) -> None:
    run(both, int(os.environ.get("PARITY_SEED", "3")), 50_000)


def test_what_is_served_is_what_is_announced(both: TwoBrokers) -> None:
    announced = both._versions(both.ours)
    assert announced == {int(key): served_versions(key) for key in SERVED}
    for key, (lowest, highest) in announced.items():
        kafka_lowest, kafka_highest = both._kafka_versions[key]
        assert lowest <= kafka_lowest or key in LOWEST_SERVED
        assert highest == kafka_highest
