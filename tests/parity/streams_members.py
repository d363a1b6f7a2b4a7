"""Members of a streams group on one broker: their requests, and the answers with ids replaced by common names."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from odradek.broker.groups.streams.heartbeat_response import SOON_MS
from odradek.protocol.messages.configs import IncrementalAlterConfigsRequest
from odradek.protocol.messages.metadata import MetadataRequest
from odradek.protocol.messages.streams_groups import StreamsGroupDescribeRequest, StreamsGroupHeartbeatRequest
from parity.consumer_members import Members
from parity.side import DEADLINE_S

GROUP_RESOURCE = 32
NOT_READY = (1, 2, 3)
"""The statuses of a topology whose topics are missing or do not fit together."""
Request = StreamsGroupHeartbeatRequest
Tasks = Mapping[str, Sequence[int]]


def info(name: str, partitions: int = 0, replication_factor: int = 0, **configs: str) -> Request.TopicInfo:
    """An internal topic of a topology."""
    pairs = [Request.KeyValue(key.replace("_", "."), value) for key, value in configs.items()]
    return Request.TopicInfo(name, partitions, replication_factor, pairs)


def subtopology(
    subtopology_id: str,
    *sources: str,
    sinks: Sequence[str] = (),
    repartitions: Sequence[Request.TopicInfo] = (),
    changelogs: Sequence[Request.TopicInfo] = (),
    copartitions: Sequence[Request.CopartitionGroup] = (),
    regexes: Sequence[str] = (),
) -> Request.Subtopology:
    """A subtopology that reads ``sources`` and ``repartitions``."""
    return Request.Subtopology(
        subtopology_id,
        list(sources),
        list(regexes),
        list(changelogs),
        list(sinks),
        list(repartitions),
        list(copartitions),
    )


def topology(*subtopologies: Request.Subtopology, epoch: int = 0) -> Request.Topology:
    """A topology of these parts."""
    return Request.Topology(epoch, list(subtopologies))


def task_ids(tasks: Tasks) -> list[Request.TaskIds]:
    """Tasks as a request has them."""
    return [Request.TaskIds(name, list(partitions)) for name, partitions in tasks.items()]


class StreamsMembers(Members):
    """A streams group on one broker. A member's id is its name.

    Our members that may get tasks soon are told a short heartbeat interval (docs/differences.md): it is taken for the
    group's."""

    interval_ms = 5_000

    def heartbeat(self, who: str, epoch: int | None = None, version: int = 1, **fields: Any) -> Any:
        """Sends a heartbeat, with the epoch of the last answer by default. ``owned``: active tasks; ``standbys``."""
        owned = fields.pop("owned", None)
        standbys = fields.pop("standbys", {})
        if owned is not None:
            fields |= {"active_tasks": task_ids(owned), "standby_tasks": task_ids(standbys), "warmup_tasks": []}
        request = Request(
            **{
                "group_id": self.name,
                "member_id": who,
                "member_epoch": self.epochs.get(who, 0) if epoch is None else epoch,
                **fields,
            }
        )
        body = self.side.ask(request, version)
        if not body["errorCode"]:
            self.epochs[who] = body["memberEpoch"]
            if self.side.is_ours and body["heartbeatIntervalMs"] == SOON_MS:
                body["heartbeatIntervalMs"] = self.interval_ms
        return self.named(body)

    def join(self, who: str, parts: Request.Topology, **fields: Any) -> Any:  # type: ignore[override]  # a topology
        """Joins with a topology, from a process of the member's own."""
        given = {
            "rebalance_timeout_ms": 300_000,
            "topology": parts,
            "process_id": f"process-{who}",
            "client_tags": [],
            "owned": {},
            **fields,
        }
        return self.heartbeat(who, 0, **given)

    def leave(self, who: str, epoch: int = -1, **fields: Any) -> Any:
        return self.heartbeat(who, epoch, **fields)

    def until(self, who: str, wanted: Callable[[Any], bool], **fields: Any) -> Any:
        """Sends heartbeats until an answer is as wanted, and returns that. Each broker needs another number of them."""
        deadline = time.monotonic() + DEADLINE_S
        while not wanted(answer := self.heartbeat(who, **fields)):
            assert time.monotonic() < deadline, answer
        return answer

    def until_ready(self, who: str, **fields: Any) -> Any:
        """Sends heartbeats until the topics of the topology are there."""
        return self.until(who, lambda answer: not statuses(answer) & {*NOT_READY}, **fields)

    def until_topics(self, *names: str) -> Any:
        """Waits until topics exist, and returns their numbers of partitions."""
        deadline = time.monotonic() + DEADLINE_S
        while True:
            body = self.side.ask(MetadataRequest(topics=None), 12)
            found = {topic["name"]: len(topic["partitions"]) for topic in body["topics"] if topic["name"] in names}
            if len(found) == len(set(names)):
                return sorted(found.items())
            assert time.monotonic() < deadline, f"{names} are not created"

    def describe(self, version: int = 1, **fields: Any) -> Any:
        return self.named(self.side.ask(StreamsGroupDescribeRequest([self.name], **fields), version))

    def change(self, key: str, value: str) -> int:
        """Sets a config of the group. Returns the error code."""
        if key == "streams.heartbeat.interval.ms":
            self.interval_ms = int(value)
        changes = [IncrementalAlterConfigsRequest.AlterableConfig(key, 0, value)]
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource(GROUP_RESOURCE, self.name, changes)
        return int(self.side.ask(IncrementalAlterConfigsRequest([resource]), 1)["responses"][0]["errorCode"])


def statuses(answer: Any) -> set[int]:
    """The codes of the statuses of an answer."""
    return {one["statusCode"] for one in answer["status"] or ()}


def tasks_of(answer: Any) -> Any:
    """The active and standby tasks of an answer, by subtopology; None if it has none."""
    if answer["activeTasks"] is None:
        return None
    return tuple(
        {one["subtopologyId"]: sorted(one["partitions"]) for one in answer[kind]}
        for kind in ("activeTasks", "standbyTasks")
    )
