"""Members of a share group on one broker: their requests, and answers without what differs between two brokers."""

import base64
import time
from collections.abc import Sequence
from typing import Any

from odradek.protocol.messages.configs import IncrementalAlterConfigsRequest
from odradek.protocol.messages.groups import FindCoordinatorRequest
from odradek.protocol.messages.share_groups import (
    DescribeShareGroupOffsetsRequest,
    InitializeShareGroupStateRequest,
    ReadShareGroupStateRequest,
    ShareAcknowledgeRequest,
    ShareFetchRequest,
    ShareGroupHeartbeatRequest,
)
from odradek.protocol.messages.structure import Message
from parity.side import DEADLINE_S, Side

GROUP_RESOURCE = 32
SHARE_KEY_TYPE = 2
RETRIED = (14, 15, 16)
"""Errors of a coordinator that is not ready."""
Batch = tuple[int, int, list[int]]
"""First and last offset, and the acknowledge types."""


class Sharers:
    """A share group on one broker. Each member has a connection of its own."""

    def __init__(self, side: Side, name: str, topic: str, partitions: int = 1) -> None:
        self.side = side
        self.name = name
        self.topic = topic
        self.topic_id = side.topic_ids[topic]
        self.partitions = partitions
        self.epochs: dict[str, int] = {}
        self.sessions: dict[str, int] = {}
        self.connections: dict[str, int] = {}
        self._wait_for_coordinator(name, 0)

    def _wait_for_coordinator(self, key: str, kind: int) -> None:
        deadline = time.monotonic() + DEADLINE_S
        request = FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
        while self.side.ask(request, 6)["coordinators"][0]["errorCode"]:
            assert time.monotonic() < deadline, f"no coordinator of {key}"

    def connection(self, who: str) -> str:
        return f"{self.name}-{who}-{self.connections.get(who, 0)}"

    def ask(self, who: str, request: Message, version: int) -> Any:
        return self.side.ask(request, version, self.connection(who))

    def configure(self, **configs: str) -> None:
        """Sets configs of the group; ``_`` stands for ``.`` in the names."""
        alter = IncrementalAlterConfigsRequest.AlterableConfig
        changes = [alter(key.replace("_", "."), 0, value) for key, value in configs.items()]
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource(GROUP_RESOURCE, self.name, changes)
        body = self.side.ask(IncrementalAlterConfigsRequest([resource]), 1)
        assert not body["responses"][0]["errorCode"], body

    # --- membership

    def heartbeat(self, who: str, epoch: int | None = None, topics: Sequence[str] | None = None, **fields: Any) -> Any:
        request = ShareGroupHeartbeatRequest(
            group_id=self.name,
            member_id=self.member_id(who),
            member_epoch=self.epochs.get(who, 0) if epoch is None else epoch,
            subscribed_topic_names=None if topics is None else list(topics),
            **fields,
        )
        body = self.ask(who, request, 1)
        if not body["errorCode"]:
            self.epochs[who] = body["memberEpoch"]
        return body

    def member_id(self, who: str) -> str:
        """The same id on both brokers."""
        return f"{self.name}-{who}"[:36]

    def join(self, who: str) -> None:
        """Joins, and waits until the member has partitions and their state is initialised."""
        deadline = time.monotonic() + DEADLINE_S
        body = self.heartbeat(who, 0, [self.topic])
        while body["errorCode"] in RETRIED or not self._is_given(body):
            assert time.monotonic() < deadline, f"{who} has no partitions: {body}"
            body = self.heartbeat(who, 0 if body["errorCode"] else None, [self.topic] if body["errorCode"] else None)

    def _is_given(self, body: Any) -> bool:
        given = body.get("assignment")
        return bool(given and any(topic["partitions"] for topic in given["topicPartitions"]))

    def initialize(self) -> None:
        """Makes the state of the group's share partitions, as its coordinator does when a member joins. Brokers do not
        check whether a member that fetches has joined."""
        topic_id = base64.urlsafe_b64encode(self.topic_id).rstrip(b"=").decode()
        for index in range(self.partitions):
            self._wait_for_coordinator(f"{self.name}:{topic_id}:{index}", SHARE_KEY_TYPE)
        partitions = [InitializeShareGroupStateRequest.PartitionData(index, 1, -1) for index in range(self.partitions)]
        state = InitializeShareGroupStateRequest.InitializeStateData(self.topic_id, partitions)
        deadline = time.monotonic() + DEADLINE_S
        while True:
            body = self.side.ask(InitializeShareGroupStateRequest(self.name, [state]), 0)
            errors = {one["errorCode"] for topic in body["results"] for one in topic["partitions"]}
            if errors == {0}:
                return
            assert errors <= {0, *RETRIED}, body
            assert time.monotonic() < deadline, body

    def stored(self, below: dict[int, int]) -> dict[int, list[tuple[int, int, int, int]]]:
        """The stored states by partition, from the offsets ``below`` on: first and last offset, state, count."""
        wanted = [ReadShareGroupStateRequest.PartitionData(index, 0) for index in range(self.partitions)]
        request = ReadShareGroupStateRequest(
            self.name, [ReadShareGroupStateRequest.ReadStateData(self.topic_id, wanted)]
        )
        found: dict[int, list[tuple[int, int, int, int]]] = {}
        for one in self.side.ask(request, 0)["results"][0]["partitions"]:
            assert not one["errorCode"], one
            start = below.setdefault(one["partition"], one["startOffset"])
            found[one["partition"]] = [
                (max(batch["firstOffset"], start), batch["lastOffset"], batch["deliveryState"], batch["deliveryCount"])
                for batch in one["stateBatches"]
                if batch["lastOffset"] >= start
            ]
        return found

    # --- records

    def fetch(
        self,
        who: str,
        epoch: int | None = None,
        *,
        partitions: Sequence[int] | None = None,
        forget: Sequence[int] = (),
        acks: dict[int, Sequence[Batch]] | None = None,
        version: int = 2,
        **fields: Any,
    ) -> Any:
        """Sends a ShareFetch. ``partitions``: None names all in the first request of a session, none later."""
        epoch = self.sessions.get(who, 0) if epoch is None else epoch
        named = list(partitions if partitions is not None else range(self.partitions) if epoch == 0 else ())
        request = ShareFetchRequest(
            **{
                "group_id": self.name,
                "member_id": self.member_id(who),
                "share_session_epoch": epoch,
                "max_wait_ms": 0,
                "min_bytes": 0,
                "max_bytes": 1 << 20,
                "max_records": 500,
                "batch_size": 500,
                "topics": self._topics(named, acks or {}),
                "forgotten_topics_data": self._forgotten(forget),
                **fields,
            }
        )
        body = self.ask(who, request, version)
        self._count(who, epoch, body)
        return self.named(body)

    def _topics(self, named: Sequence[int], acks: dict[int, Sequence[Batch]]) -> list[Any]:
        partitions = [
            ShareFetchRequest.FetchPartition(
                index, 0, [ShareFetchRequest.AcknowledgementBatch(*batch) for batch in acks.get(index, ())]
            )
            for index in dict.fromkeys([*named, *acks])
        ]
        return [ShareFetchRequest.FetchTopic(self.topic_id, partitions)] if partitions else []

    def _forgotten(self, forget: Sequence[int]) -> list[Any]:
        return [ShareFetchRequest.ForgottenTopic(self.topic_id, list(forget))] if forget else []

    def acknowledge(
        self, who: str, acks: dict[int, Sequence[Batch]], epoch: int | None = None, version: int = 2, **fields: Any
    ) -> Any:
        """Sends a ShareAcknowledge."""
        epoch = self.sessions.get(who, 1) if epoch is None else epoch
        partitions = [
            ShareAcknowledgeRequest.AcknowledgePartition(
                index, [ShareAcknowledgeRequest.AcknowledgementBatch(*batch) for batch in batches]
            )
            for index, batches in acks.items()
        ]
        topic = ShareAcknowledgeRequest.AcknowledgeTopic(self.topic_id, partitions)
        request = ShareAcknowledgeRequest(
            **{
                "group_id": self.name,
                "member_id": self.member_id(who),
                "share_session_epoch": epoch,
                "topics": [topic] if partitions else [],
                **fields,
            }
        )
        body = self.ask(who, request, version)
        self._count(who, epoch, body)
        return self.named(body)

    def _count(self, who: str, epoch: int, body: Any) -> None:
        if body["errorCode"]:
            return
        if epoch == -1:
            self.sessions.pop(who, None)
        else:
            self.sessions[who] = epoch + 1

    def disconnect(self, who: str) -> None:
        """Goes on with another connection; the one before is closed."""
        self.side.wire.close(self.side.port, self.connection(who))
        self.connections[who] = self.connections.get(who, 0) + 1
        self.sessions.pop(who, None)

    def until_loaded(self, who: str) -> None:
        """Fetches until each share partition has given records away. What the member has got, it holds."""
        deadline = time.monotonic() + DEADLINE_S
        loaded: set[int] = set()
        while len(loaded) < self.partitions:
            body = self.fetch(who, max_wait_ms=500, min_bytes=1)
            loaded |= {index for index, one in body["partitions"].items() if one["acquired"]}
            assert time.monotonic() < deadline, f"no records for {who}: {body}"

    def offsets(self) -> Any:
        """What DescribeShareGroupOffsets says."""
        topic = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestTopic(
            self.topic, list(range(self.partitions))
        )
        group = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup(self.name, [topic])
        return self.side.ask(DescribeShareGroupOffsetsRequest([group]), 1)["groups"][0]

    def named(self, body: Any) -> Any:
        """An answer without ids and order: its error, and for each partition what differs from nothing."""
        partitions = {}
        for topic in body["responses"]:
            assert topic["topicId"], body
            for one in topic["partitions"]:
                partitions[one["partitionIndex"]] = {
                    "error": one["errorCode"],
                    "acknowledged": one.get("acknowledgeErrorCode", 0),
                    "message": one.get("acknowledgeErrorMessage") or one.get("errorMessage"),
                    "acquired": [
                        (got["firstOffset"], got["lastOffset"], got["deliveryCount"])
                        for got in one.get("acquiredRecords", ())
                    ],
                    "records": one.get("records", one.get("recordsSizeInBytes")),
                }
        return {"error": body["errorCode"], "lock": body.get("acquisitionLockTimeoutMs"), "partitions": partitions}
