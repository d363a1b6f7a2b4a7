"""A Kafka Streams application without Kafka Streams: the requests of the one member of a streams group (KIP-1071)."""

from collections.abc import Mapping
from typing import Any

from odradek.protocol.messages.groups import FindCoordinatorRequest, OffsetCommitRequest
from odradek.protocol.messages.streams_groups import StreamsGroupHeartbeatRequest
from support.brokers.asking import Asking
from support.eventually import eventually

COORDINATOR_IS_COMING = {14, 15, 16}
SETTINGS = {
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.max.session.timeout.ms": "1800000",
    "group.streams.session.timeout.ms": "1800000",
}
"""Configs of a broker, with which a group gets its tasks at once, and no member has to send heartbeats."""
Request = StreamsGroupHeartbeatRequest


class StreamsApplication:
    """Counts the keys of a topic: subtopology 0 writes a repartition topic, 1 reads that and has a changelog."""

    def __init__(self, bootstrap_servers: str, group_id: str, topic: str) -> None:
        self._asking = Asking(int(bootstrap_servers.rpartition(":")[2]))
        self.group_id = group_id
        self.topic = topic
        self.repartition, self.changelog = f"{group_id}-keys-repartition", f"{group_id}-counts-changelog"
        self._epoch = 0
        self._active: dict[str, list[int]] = {}

    def start(self) -> None:
        """Joins the group, and returns when the member has its tasks. Its internal topics exist then."""
        eventually("the group has a coordinator", self._has_coordinator)
        answers = [eventually("the member joins", self._joined)]

        def is_ready() -> bool:
            """Confirms new tasks. The member is ready when the answer has no other ones, and every topic exists."""
            if answers[-1].active_tasks is not None:
                self._active = {task.subtopology_id: list(task.partitions) for task in answers[-1].active_tasks}
            answers.append(self._heartbeat(active=self._active))
            assert not answers[-1].error_code, answers[-1]
            return bool(self._active) and answers[-1].active_tasks is None and not answers[-1].status

        eventually(lambda: f"the member has its tasks: {answers[-1]}", is_ready)

    def stop(self) -> None:
        """Leaves the group."""
        self._epoch = -1
        assert not self._heartbeat().error_code

    def commit(self, offsets: Mapping[int, int], topic: str | None = None) -> None:
        """Commits offsets of partitions of the topic, after ``stop``."""
        partition = OffsetCommitRequest.OffsetCommitRequestPartition
        committed = [partition(number, offset) for number, offset in offsets.items()]
        topics = [OffsetCommitRequest.OffsetCommitRequestTopic(topic or self.topic, partitions=committed)]
        answer = self._asking.ask(OffsetCommitRequest(self.group_id, topics=topics), 8)
        assert not any(part.error_code for part in answer.topics[0].partitions), answer

    def _has_coordinator(self) -> bool:
        """The first request creates the topic of committed offsets."""
        return not self._asking.ask(FindCoordinatorRequest(self.group_id), 3).error_code

    def _joined(self) -> Any:
        """The answer to the first heartbeat; None while the coordinator is loading."""
        answer = self._heartbeat(topology=self._topology(), active={})
        if answer.error_code:
            assert answer.error_code in COORDINATOR_IS_COMING, answer
            return None
        return answer

    def _heartbeat(
        self, *, topology: Request.Topology | None = None, active: Mapping[str, list[int]] | None = None
    ) -> Any:
        request = Request(self.group_id, f"member-of-{self.group_id}"[:36], self._epoch)
        if active is not None:
            request.active_tasks = [Request.TaskIds(name, numbers) for name, numbers in active.items()]
            request.standby_tasks, request.warmup_tasks = [], []
        if topology is not None:
            request.topology, request.rebalance_timeout_ms, request.process_id = topology, 300_000, "process-1"
            request.client_tags = []
        answer = self._asking.ask(request, 1)
        if not answer.error_code:
            self._epoch = answer.member_epoch
        return answer

    def _topology(self) -> Request.Topology:
        counts = Request.TopicInfo(self.changelog, 0, 0, [Request.KeyValue("cleanup.policy", "compact")])
        keys = Request.TopicInfo(self.repartition, 0, 0, [])
        return Request.Topology(
            0,
            [
                Request.Subtopology("0", [self.topic], repartition_sink_topics=[self.repartition]),
                Request.Subtopology("1", state_changelog_topics=[counts], repartition_source_topics=[keys]),
            ],
        )
