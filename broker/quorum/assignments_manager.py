"""Tells the controllers in which log directory each replica of this broker lies.

Shell around :class:`.directory_assignments.DirectoryAssignments`. Owns: the task, its connection, the wait between
requests. Never does: deciding what is sent. Source: AssignmentsManager (KIP-858).
"""

import asyncio
import time
from collections.abc import Callable, Iterator

from ...protocol.messages.quorum import AssignReplicasToDirsRequest, AssignReplicasToDirsResponse
from ..metadata.features import DIRECTORY_ASSIGNMENT_SUPPORTED
from ..metadata.followed import FollowedMetadata
from ..metadata.image import MetadataDelta, MetadataImage, Replica
from ..network.node_client import NodeUnavailableError
from ..timers.repeated_complaint import RepeatedComplaint
from .channel import ControllerChannel
from .directory_assignments import DirectoryAssignments
from .permissions import described

REQUEST_TIMEOUT_S = 10.0
"""A batch waits for one commit of the controllers; a request on a dead connection must not wait for long."""


class AssignmentsManager:
    """Reports the log directories of one broker's replicas to the controllers."""

    def __init__(self, metadata: FollowedMetadata, broker_epoch: Callable[[], int], channel: ControllerChannel) -> None:
        self._metadata = metadata
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
        self._wake.set()
        yield

    async def run(self) -> None:
        """Sends assignments until it is cancelled."""
        try:
            while True:
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
        refused = self._assignments.answered(response)
        if refused:
            self._complaint.complain(", ".join(f"{described(code)} for {count}" for code, count in refused.items()))
        else:
            self._complaint.resolved()
