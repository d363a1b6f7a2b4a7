"""Tells the controllers in which log directory each replica of this broker lies.

Shell around :class:`.directory_assignments.DirectoryAssignments`. Owns: the task, its connection, the wait between
requests. Never does: deciding what is sent. Source: AssignmentsManager (KIP-858).
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Set

from odradek.protocol.messages.quorum import AssignReplicasToDirsRequest, AssignReplicasToDirsResponse

from ...network.node_client import NodeUnavailableError
from ...timers.repeated_complaint import RepeatedComplaint
from ..image.features import DIRECTORY_ASSIGNMENT_SUPPORTED
from ..image.image import DIRECTORY_LOST, MetadataDelta, MetadataImage, Replica
from ..publisher.followed import FollowedMetadata
from .channel import ControllerChannel, described
from .directory_assignments import DirectoryAssignments

REQUEST_TIMEOUT_S = 10.0
"""A batch waits for one commit of the controllers; a request on a dead connection must not wait for long."""
PARTITIONS_A_STEP = 500
"""The partitions that one turn of the event loop looks at after a directory was filled or has room again: 1 ms."""


class AssignmentsManager:
    """Reports the log directories of one broker's replicas to the controllers."""

    def __init__(
        self,
        metadata: FollowedMetadata,
        broker_epoch: Callable[[], int],
        channel: ControllerChannel,
        lies_in: Callable[[str, int], bytes | None],
    ) -> None:
        """``lies_in``: topic and index -> the id of the directory with this broker's replica; None if there is none."""
        self._metadata = metadata
        self._lies_in = lies_in
        self._must_look_at_all = False
        self._broker_epoch = broker_epoch
        self._channel = channel
        self._assignments = DirectoryAssignments(metadata.node_id)
        self._wake = asyncio.Event()
        self._awaited: dict[Replica, tuple[bytes, asyncio.Future[None]]] = {}
        """Replica -> the directory id that :meth:`assigned` waits for in the metadata, and its future."""
        self._complaint = RepeatedComplaint("could not report the log directories of replicas", time.monotonic)

    def placed(self, topic_id: bytes, index: int, directory_id: bytes) -> None:
        """Reports that a replica lies in this directory, if the metadata names another one or none."""
        self._assignments.placed(topic_id, index, directory_id)
        self._wake.set()

    def refuse_in(self, directory_ids: Set[bytes]) -> None:
        """Hands over what this broker leads in these directories, which refuse clients' records, and takes back what it
        has handed over in all others."""
        if directory_ids != self._assignments.full:
            self._assignments.refuse_in(frozenset(directory_ids))
            self._must_look_at_all = True
            self._wake.set()

    def is_stuck(self, topic: str, topic_id: bytes, index: int) -> None:
        """Keeps a followed replica out of the ISR until its directory has room: its log can't take what the leader
        sends."""
        directory_id = self._lies_in(topic, index)
        if directory_id is not None:
            self._assignments.is_stuck(topic_id, index, directory_id)
            self._wake.set()

    async def assigned(self, replica: Replica, directory_id: bytes) -> None:
        """Reports the directory of a replica, and returns when the metadata names it.

        Returns at once if the cluster's metadata has no directories.
        """
        image = self._metadata.image
        if image.metadata_version < DIRECTORY_ASSIGNMENT_SUPPORTED or self._is_named(image, replica, directory_id):
            return
        self.placed(*replica, directory_id)
        named: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._awaited[replica] = directory_id, named
        try:
            await named
        finally:
            if self._awaited.get(replica) == (directory_id, named):
                del self._awaited[replica]

    def _is_named(self, image: MetadataImage, replica: Replica, directory_id: bytes) -> bool:
        topic = image.topics_by_id.get(replica[0])
        partition = None if topic is None else topic.partitions.get(replica[1])
        return partition is not None and partition.directory_of(self._metadata.node_id) == directory_id

    def changed(self, image: MetadataImage, delta: MetadataDelta) -> Iterator[None]:
        """A subscriber of the metadata. Completes :meth:`assigned`. Looks again for assignments to send: some may have
        waited for a topic or a feature level."""
        if delta.deleted_topics:
            self._assignments.topics_deleted(delta.deleted_topics.keys())
        for replica, (directory_id, named) in self._awaited.items():
            is_named = replica in delta.changed_partitions and self._is_named(image, replica, directory_id)
            if is_named and not named.done():
                named.set_result(None)
        for number, replica in enumerate(delta.changed_partitions, start=1):
            self._assignments.changed(image, replica)
            if number % PARTITIONS_A_STEP == 0:
                yield
        self._wake.set()
        yield

    async def _look_at_all(self) -> None:
        """Queues what this broker leads in full directories, and what it has handed over."""
        node_id, full = self._metadata.node_id, self._assignments.full
        count = 0
        for topic in list(self._metadata.image.topics_by_id.values()):
            for index, partition in list(topic.partitions.items()):
                count += 1
                if count % PARTITIONS_A_STEP == 0:
                    await asyncio.sleep(0)
                if node_id not in partition.replicas:
                    continue
                directory_id = partition.directory_of(node_id)
                if directory_id == DIRECTORY_LOST or (partition.leader == node_id and directory_id in full):
                    lies_in = self._lies_in(topic.name, index)
                    if lies_in is not None:
                        self._assignments.placed(topic.topic_id, index, lies_in)

    async def run(self) -> None:
        """Sends assignments until it is cancelled."""
        try:
            while True:
                if self._must_look_at_all:
                    self._must_look_at_all = False
                    await self._look_at_all()
                request = self._assignments.next(self._metadata.image, self._broker_epoch())
                if request is None:
                    self._wake.clear()
                    await self._wake.wait()
                    continue
                await self._send(request)
                await asyncio.sleep(self._assignments.backoff_ms / 1000)
        finally:
            self._channel.close()

    async def _send(self, request: AssignReplicasToDirsRequest) -> None:
        try:
            response = await self._channel.send(request, AssignReplicasToDirsResponse, REQUEST_TIMEOUT_S)
        except NodeUnavailableError as error:
            self._assignments.unanswered()
            self._complaint.complain(error)
            return
        except Exception:  # a bug: nothing else would be sent before the answer
            self._assignments.unanswered()
            raise
        refused = self._assignments.answered(response)
        if refused:
            self._complaint.complain(", ".join(f"{described(code)} for {count}" for code, count in refused.items()))
        else:
            self._complaint.resolved()
