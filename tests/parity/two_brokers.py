"""Odradek and a real Kafka side by side, and the program that sends the same requests to both."""

import base64
import contextlib
import copy
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from answers.recording import Recording
from odradek.broker.dispatch.served import served_versions
from odradek.protocol.messages.groups import FindCoordinatorRequest, OffsetFetchRequest
from odradek.protocol.messages.metadata import ApiVersionsRequest, MetadataRequest
from odradek.protocol.messages.offsets import ListOffsetsRequest
from odradek.protocol.messages.structure import Message
from odradek.protocol.messages.transactions import InitProducerIdRequest
from parity.question_draws import GROUPS
from parity.world import Names
from support.eventually import PATIENCE_S
from support.kafka.wire import Line, Wire

SAME_KEYS = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "share.coordinator.state.topic.num.partitions": "3",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
    "group.consumer.assignment.interval.ms": "0",  # else answers depend on the time between requests
    "group.streams.assignment.interval.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.consumer.assignor.offload.enable": "false",  # else Kafka answers a heartbeat before its assignor has ended
    "auto.create.topics.enable": "false",
    "offsets.retention.check.interval.ms": "2147483647",  # each broker would remove empty groups at its own time
    "log.retention.ms": "-1",  # the records are from 2023: each broker would delete them at its own time
}

KAFKA_KEYS = {
    **SAME_KEYS,
    # Makes Kafka handle the requests of all connections in the order in which they were sent, as Odradek does.
    "num.network.threads": "1",
    "num.io.threads": "1",
    "group.coordinator.threads": "1",
    "group.coordinator.append.linger.ms": "0",
}


VERIFIED_ALONE = threading.Lock()
"""Held while a transaction's records or offsets are sent, because Kafka verifies them at the coordinator.

Kafka sends verifications that arrive together in one request, and chooses the error by the version of the first
(AddPartitionsToTxnManager). A verification of another history would change the answer.
"""


class TwoBrokers:
    """Odradek and Kafka, and the program that sends requests to them."""

    def __init__(self, wire: Line, ours: Names, kafka: Names, our_log_dir: Path, kafka_log_dir: Path) -> None:
        self._program = wire
        self.wire = wire
        self.our_log_dir = our_log_dir
        self.kafka_log_dir = kafka_log_dir
        self.ours = ours
        self.kafka = kafka
        self.recording: Recording | None = None
        """Notes the questions of fixed scenes and Kafka's answers, for the corpus."""
        self.coordinators: set[int] = set()
        """Partitions of the offsets topic that are known to be served."""
        self._kafka_versions = self._versions(kafka)
        self._wait_until_the_offsets_topic_is_there()
        while self.wire.ask(kafka.port, InitProducerIdRequest(None, 1000), 0)["body"]["errorCode"]:
            pass  # repeated until Kafka has its first block of producer ids

    @contextlib.contextmanager
    def beside(self) -> Iterator["TwoBrokers"]:
        """The same brokers for another thread, with its own connections."""
        assert isinstance(self._program, Wire)
        with self._program.another() as line:
            also = copy.copy(self)
            also.wire = line
            yield also

    def _versions(self, names: Names) -> dict[int, tuple[int, int]]:
        body = self.wire.ask(names.port, ApiVersionsRequest("wire", "1"), 3)["body"]
        return {entry["apiKey"]: (entry["minVersion"], entry["maxVersion"]) for entry in body["apiKeys"]}

    def versions(self, request: type[Message]) -> tuple[int, int]:
        """The versions of an API that both brokers serve. Kafka announces Produce below 3 only for librdkafka."""
        lowest, highest = served_versions(request.API_KEY)
        kafka_lowest, kafka_highest = self._kafka_versions[request.API_KEY]
        return max(lowest, kafka_lowest, 3 if request.API_KEY == 0 else 0), min(highest, kafka_highest)

    def ask(self, question: tuple[int, Any]) -> tuple[Message, Any, Any]:
        """Sends a request to both brokers. Returns our request, our answer and Kafka's answer."""
        version, make = question
        answers = []
        for names in (self.ours, self.kafka):
            request = make(names)
            answer = self.wire.ask(names.port, request, version)
            if names is self.kafka and self.recording is not None:
                self.recording.asked("main", "wire", request, version, answer)
            self._learn(names, request, answer)
            if request.NAME == "ListGroupsRequest":
                # Groups of other tests remain: each broker ends their sessions at its own time.
                groups = [group for group in answer["body"]["groups"] if group["groupId"] in (*GROUPS, "unknown")]
                answer["body"]["groups"] = groups
            answers.append(answer)
        if make(self.ours).NAME in CHANGES_METADATA:
            self._wait_until_both_see_the_same_topics()
        return make(self.ours), answers[0], answers[1]

    def ask_kafka_again(self, question: tuple[int, Any], until: Callable[[Any], bool]) -> Any:
        """Repeats a request to Kafka until its answer satisfies ``until``. Kafka makes some changes after its answer.

        Returns the last answer if that does not happen within PATIENCE_S.
        """
        version, make = question
        deadline = time.monotonic() + PATIENCE_S
        while True:
            answer = self.wire.ask(self.kafka.port, make(self.kafka), version)
            if self.recording is not None:
                self.recording.asked("main", "wire", make(self.kafka), version, answer)
            if until(answer) or time.monotonic() > deadline:
                return answer

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
        """Waits for Kafka's broker, which learns of changes shortly after its controller has answered."""
        deadline = time.monotonic() + PATIENCE_S
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
        """Waits for Kafka, which creates the topic at the first FindCoordinator. Odradek has it from the start."""
        deadline = time.monotonic() + PATIENCE_S
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
