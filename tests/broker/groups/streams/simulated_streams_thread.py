"""A thread of a Kafka Streams process as a client behaves: it joins, sends heartbeats, gives up and takes over tasks.

It gives up tasks after some time, and reports that before it takes over others. It has one request in flight at a time.
The simulator makes all random decisions.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from odradek.broker.groups.streams.configured_topology import StatusCode
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import OffsetFetchRequest
from odradek.protocol.messages.streams_groups import StreamsGroupHeartbeatRequest as Request
from odradek.protocol.messages.streams_groups import StreamsGroupHeartbeatResponse as Response

from ..simulated_member import SimulatedMember, TopicPartition

RoleTask = tuple[str, str, int]
"""The role (active or standby), the id of the subtopology, the partition."""
SESSION_MS = 2_000
REBALANCE_MS = 4_000
ACTIVE, STANDBY = "active", "standby"

ABANDONS = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND)
GIVES_UP = (ErrorCode.FENCED_INSTANCE_ID, ErrorCode.GROUP_MAX_SIZE_REACHED, ErrorCode.INVALID_REQUEST)
"""INVALID_REQUEST: another application runs under the group's id, or a task does not exist any more."""
TRIES_AGAIN = (
    ErrorCode.UNRELEASED_INSTANCE_ID,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
)


@dataclass(repr=False)
class SimulatedStreamsThread(SimulatedMember[RoleTask]):
    """One thread. ``owned``: the tasks that it runs; ``positions``: the offsets of their partitions, once fetched."""

    process_id: str = ""
    topology: Request.Topology = field(default_factory=Request.Topology)
    endpoint: Request.Endpoint | None = None
    endpoint_epoch: int = 0
    must_end: bool = False
    statuses: frozenset[int] = frozenset()
    loses_next: bool = False
    """The answer to its next heartbeat is lost."""

    # --- life

    def start(
        self, member_id: str, process_id: str, topology: Request.Topology, endpoint: Request.Endpoint | None
    ) -> None:
        """A new thread."""
        self.alive = True
        self.incarnation += 1
        self.member_id, self.process_id = member_id, process_id
        self.topology, self.endpoint = topology, endpoint
        self.waiting = self.must_end = False
        self.paused_until_ms = 0
        self.abandon()

    def crash(self) -> None:
        """Dies without a request."""
        self.alive = self.waiting = False
        self.abandon()

    def abandon(self) -> None:
        """Gives up all tasks and will join again."""
        self.epoch = self.endpoint_epoch = 0
        self.owned = set()
        self.assigned = set()
        self.positions = {}
        self.told = None
        self.must_acknowledge = self.telling = self.loses_next = False
        self.statuses = frozenset()

    def leave(self, for_a_while: bool) -> None:
        """Closes for ever, or as a static member that will return."""
        request = Request(self.group_id, self.member_id, -2 if for_a_while else -1, instance_id=self.instance_id)
        self.crash()
        self.harness.send(self.name, ApiKey.STREAMS_GROUP_HEARTBEAT, 1, request, lambda _: None)

    def connection_lost(self) -> None:
        """The request is not answered. The thread joins again.

        Kafka's client does not: it sends its tasks again. But the coordinator of Kafka 4.4.0, and so ours, does not
        repeat an assignment whose answer was lost. Then the thread may take over tasks that it was told to give up.
        """
        self.waiting = False
        self.abandon()

    # --- the protocol

    def heartbeat(self, offsets: int | None = None, shutdown: bool = False) -> None:
        """Sends the changes since the last answered heartbeat, or everything when it joins. ``offsets``: the offset
        that it reports for each of its standby tasks; None for no report."""
        joins = self.epoch == 0
        request = Request(
            self.group_id,
            self.member_id,
            self.epoch,
            endpoint_information_epoch=self.endpoint_epoch,
            instance_id=self.instance_id,
            shutdown_application=shutdown,
        )
        told = frozenset(self.owned)
        if joins:
            request.topology, request.process_id = self.topology, self.process_id
            request.rebalance_timeout_ms, request.client_tags = REBALANCE_MS, []
            request.user_endpoint = self.endpoint
        if self.must_acknowledge and self.owned == self.assigned:
            # Also if its tasks have not changed: the coordinator waits for the confirmation.
            self.must_acknowledge = False
            self.told = None
        if joins or told != self.told:
            self.telling = True
            request.active_tasks, request.standby_tasks = task_ids(told, ACTIVE), task_ids(told, STANDBY)
            request.warmup_tasks = []
        if offsets is not None:
            standbys = sorted(task for task in told if task[0] == STANDBY)
            request.task_offsets = [Request.TaskOffset(*task[1:], offsets) for task in standbys]
        self._ask(ApiKey.STREAMS_GROUP_HEARTBEAT, 1, request, lambda response: self._answered(response, told))

    def _answered(self, response: Response, told: frozenset[RoleTask]) -> None:
        if self.loses_next:
            self.connection_lost()
            return
        error = ErrorCode(response.error_code)
        if error:
            self._refused(error)
            return
        self.telling = False
        assert response.member_id == self.member_id
        assert response.member_epoch >= max(self.epoch, 1), f"{self}: epoch {response.member_epoch}"
        self.epoch = response.member_epoch
        self.endpoint_epoch = response.endpoint_information_epoch
        self.told = told
        self.statuses = frozenset(status.status_code for status in response.status or ())
        self.must_end |= StatusCode.SHUTDOWN_APPLICATION in self.statuses
        if response.active_tasks is not None:
            assert not response.warmup_tasks
            self.must_acknowledge = True
            self.assigned = {
                (role, each.subtopology_id, partition)
                for role, tasks in ((ACTIVE, response.active_tasks), (STANDBY, response.standby_tasks or ()))
                for each in tasks
                for partition in each.partitions
            }

    def _refused(self, error: ErrorCode) -> None:
        if error in ABANDONS:
            self.abandon()
        elif error in GIVES_UP:
            self.crash()
        else:
            assert error in TRIES_AGAIN, f"{self}: {error.name}"
            self.connection_lost()  # the records may be stored

    def give_up_one(self) -> bool:
        """Gives up one task that it must not run; returns whether there was one."""
        for task in sorted(self.owned - self.assigned):
            self.owned.discard(task)
            self.positions.clear()
            return True
        return False

    # --- offsets

    def partitions(self, ids: dict[str, bytes]) -> dict[TopicPartition, str]:
        """The partitions that its active tasks read, of topics with ids, and their topics."""
        return {
            (ids[topic], partition): topic
            for role, subtopology_id, partition in self.owned
            if role == ACTIVE
            for topic in readers_of(self.topology, subtopology_id)
            if topic in ids and partition in self.harness.image.topics_by_name[topic].partitions
        }

    def fetch_positions(self, ids: dict[str, bytes], fetched: Callable[[TopicPartition, int], None]) -> None:
        """Fetches the offsets of the partitions that it has taken over. ``fetched`` gets each, -1 for none."""
        reads = self.partitions(ids)
        self.positions = {key: offset for key, offset in self.positions.items() if key in reads}
        missing = sorted((reads[key], key) for key in reads.keys() - self.positions.keys())
        group = OffsetFetchRequest.OffsetFetchRequestGroup(self.group_id, self.member_id, self.epoch)
        group.topics = [
            OffsetFetchRequest.OffsetFetchRequestTopics(topic, partition_indexes=[key[1]]) for topic, key in missing
        ]

        def answered(response: Any) -> None:
            if response.groups[0].error_code:
                return
            for (_, key), topic in zip(missing, response.groups[0].topics, strict=True):
                [partition] = topic.partitions
                if not partition.error_code and key in self.partitions(ids):
                    fetched(key, partition.committed_offset)
                    self.positions[key] = max(partition.committed_offset, 0)

        if missing:
            self._ask(ApiKey.OFFSET_FETCH, 9, OffsetFetchRequest(groups=[group]), answered)


def readers_of(topology: Request.Topology, subtopology_id: str) -> list[str]:
    """The topics that a subtopology reads."""
    return next(
        (
            [*each.source_topics, *(topic.name for topic in each.repartition_source_topics)]
            for each in topology.subtopologies
            if each.subtopology_id == subtopology_id
        ),
        [],
    )


def task_ids(tasks: Collection[RoleTask], role: str) -> list[Request.TaskIds]:
    """The tasks of a role as a request has them."""
    found: dict[str, list[int]] = {}
    for own_role, subtopology_id, partition in sorted(tasks):
        if own_role == role:
            found.setdefault(subtopology_id, []).append(partition)
    return [Request.TaskIds(subtopology_id, partitions) for subtopology_id, partitions in found.items()]
