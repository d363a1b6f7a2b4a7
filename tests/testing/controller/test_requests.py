"""The requests of brokers over a socket: registration, heartbeats, the metadata log, Envelopes, AlterPartition."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from odradek.broker.metadata.image.features import SUPPORTED_FEATURES
from odradek.broker.metadata.image.image import DIRECTORY_LOST, NO_LEADER, PartitionImage
from odradek.broker.network.node_client import NodeClient
from odradek.protocol.codec import decode
from odradek.protocol.codec.header import encode_request, response_header_version
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import FetchRequest, FetchResponse
from odradek.protocol.messages.headers import ResponseHeader
from odradek.protocol.messages.metadata import MetadataRequest
from odradek.protocol.messages.quorum import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    AlterPartitionRequest,
    AlterPartitionResponse,
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    EnvelopeRequest,
    EnvelopeResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
)
from odradek.protocol.messages.structure import Message
from odradek.protocol.messages.topics import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
)
from odradek.protocol.names.topics import METADATA_TOPIC, METADATA_TOPIC_ID
from odradek.testing.controller.embedded import EmbeddedController

TIMEOUT_S = 60.0
LONG_SESSION = {"broker.session.timeout.ms": 600_000}
"""So long that no session expires between the heartbeats that a test sends."""
APPLIED = 1 << 40
"""A metadata offset in heartbeats for a broker that has applied everything."""
Answer = TypeVar("Answer", bound=Message)


class WireBroker:
    """Sends the requests of a broker one by one."""

    def __init__(self, controller: EmbeddedController, node_id: int) -> None:
        self.node_id = node_id
        self.epoch = -1
        self.controller = controller
        self.directories = [bytes([node_id, place]) * 8 for place in (1, 2)]
        host, _, port = controller.address.rpartition(":")
        self.client = NodeClient(host, int(port), f"test-{node_id}")

    async def send(self, request: Message, response_type: type[Answer]) -> Answer:
        return await self.client.send(request, response_type, TIMEOUT_S)

    async def register(self, incarnation: bytes = bytes(15) + b"i") -> BrokerRegistrationResponse:
        request = BrokerRegistrationRequest(
            self.node_id,
            self.controller.cluster_id,
            incarnation,
            [BrokerRegistrationRequest.Listener("PLAINTEXT", "127.0.0.1", 9000 + self.node_id, 0)],
            [BrokerRegistrationRequest.Feature(name, *span) for name, span in SUPPORTED_FEATURES.items()],
            log_dirs=self.directories,
        )
        response = await self.send(request, BrokerRegistrationResponse)
        if not response.error_code:
            self.epoch = response.broker_epoch
        return response

    async def beat(
        self,
        *,
        applied: int = APPLIED,
        fence: bool = False,
        shut_down: bool = False,
        offline: list[bytes] | None = None,
    ) -> BrokerHeartbeatResponse:
        request = BrokerHeartbeatRequest(self.node_id, self.epoch, applied, fence, shut_down, offline or [])
        return await self.send(request, BrokerHeartbeatResponse)

    async def enveloped(self, request: Message, response_type: type[Answer]) -> Answer:
        version = request.VERSIONS[1]
        envelope = EnvelopeRequest(encode_request(request, version, 7, "client")[4:], None, bytes(4))
        answer = await self.send(envelope, EnvelopeResponse)
        assert answer.error_code == ErrorCode.NONE
        data = bytes(answer.response_data or b"")
        header, position = decode(ResponseHeader, response_header_version(request.API_KEY, version), data)
        assert header.correlation_id == 7
        return decode(response_type, version, data, position)[0]

    async def create(self, name: str, replicas: list[int]) -> None:
        assignment = CreateTopicsRequest.CreatableReplicaAssignment(0, replicas)
        topic = CreateTopicsRequest.CreatableTopic(name, -1, -1, [assignment])
        response = await self.enveloped(CreateTopicsRequest([topic]), CreateTopicsResponse)
        assert [one.error_code for one in response.topics] == [ErrorCode.NONE]

    async def alter(self, topic: str, isr: list[int]) -> AlterPartitionResponse.PartitionData:
        """Requests an ISR with AlterPartition, with the committed epochs."""
        image = self.controller.image
        partition = partition_of(self.controller, topic)
        states = [AlterPartitionRequest.BrokerState(one, image.brokers[one].epoch) for one in isr]
        asked = AlterPartitionRequest.PartitionData(0, partition.leader_epoch, [], states, 0, partition.partition_epoch)
        topic_id = image.topics_by_name[topic].topic_id
        request = AlterPartitionRequest(self.node_id, self.epoch, [AlterPartitionRequest.TopicData(topic_id, [asked])])
        response = await self.send(request, AlterPartitionResponse)
        assert response.error_code == ErrorCode.NONE
        return response.topics[0].partitions[0]


def partition_of(controller: EmbeddedController, topic: str) -> PartitionImage:
    partition = controller.image.partition(topic, 0)
    assert partition is not None
    return partition


@asynccontextmanager
async def brokers(path: Path, count: int) -> AsyncIterator[list[WireBroker]]:
    """Registered, unfenced brokers under a controller; their node ids count from 1."""
    with EmbeddedController(path, LONG_SESSION) as controller:
        found = [WireBroker(controller, node_id) for node_id in range(1, count + 1)]
        try:
            for one in found:
                await one.register()
                assert not (await one.beat()).is_fenced
            yield found
        finally:
            for one in found:
                one.client.close()


async def test_unfencing_waits_until_the_registration_is_applied(tmp_path: Path) -> None:
    with EmbeddedController(tmp_path, LONG_SESSION) as controller:
        broker = WireBroker(controller, 1)
        registered = await broker.register()
        early = await broker.beat(applied=registered.broker_epoch - 1)
        assert (early.is_caught_up, early.is_fenced) == (False, True)
        due = await broker.beat(applied=registered.broker_epoch)
        assert (due.is_caught_up, due.is_fenced) == (True, False)
        assert not controller.image.brokers[1].fenced
        broker.client.close()


async def test_second_incarnation_waits_for_the_session_of_the_first(tmp_path: Path) -> None:
    async with brokers(tmp_path, 1) as (broker,):
        assert (await broker.register(b"another one 1234")).error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
        broker.epoch += 1
        assert (await broker.beat()).error_code == ErrorCode.STALE_BROKER_EPOCH


async def test_isr_grows_shrinks_and_survives_the_leader(tmp_path: Path) -> None:
    async with brokers(tmp_path, 3) as (first, second, third):
        await first.create("orders", [1, 2, 3])
        assert (await first.alter("orders", [1, 3])).isr == [1, 3]
        assert (await second.alter("orders", [1, 2])).error_code == ErrorCode.INVALID_REQUEST
        assert (await first.alter("orders", [1, 2, 3])).isr == [1, 2, 3]
        leaving = await first.beat(shut_down=True)
        assert (leaving.is_fenced, leaving.should_shut_down) == (False, False)
        partition = partition_of(first.controller, "orders")
        assert (partition.leader, partition.isr, partition.leader_epoch) == (2, (2, 3), 1)
        assert (await second.alter("orders", [2, 3, 1])).error_code == ErrorCode.INELIGIBLE_REPLICA
        for one in (second, third):
            await one.beat()
        assert (await first.beat(shut_down=True)).should_shut_down
        assert first.controller.image.brokers[1].fenced


async def test_shutdown_is_granted_once_every_active_broker_knows_it(tmp_path: Path) -> None:
    async with brokers(tmp_path, 2) as (first, second):
        await first.create("orders", [1, 2])
        await second.beat(applied=first.controller.image.last_offset)
        assert not (await first.beat(shut_down=True)).should_shut_down
        assert not (await first.beat(shut_down=True)).should_shut_down
        await second.beat(applied=first.controller.image.last_offset)
        assert (await first.beat(shut_down=True)).should_shut_down


async def test_reassignment_ends_when_the_new_replica_is_in_sync(tmp_path: Path) -> None:
    async with brokers(tmp_path, 3) as (first, _, _):
        await first.create("orders", [1, 2])
        wanted = AlterPartitionReassignmentsRequest.ReassignablePartition(0, [1, 3])
        request = AlterPartitionReassignmentsRequest(
            topics=[AlterPartitionReassignmentsRequest.ReassignableTopic("orders", [wanted])]
        )
        response = await first.enveloped(request, AlterPartitionReassignmentsResponse)
        assert response.responses[0].partitions[0].error_code == ErrorCode.NONE
        moving = partition_of(first.controller, "orders")
        assert (moving.adding_replicas, moving.removing_replicas) == ((3,), (2,))
        assert (await first.alter("orders", [1, 2, 3])).isr == [1, 3]
        moved = partition_of(first.controller, "orders")
        assert (moved.replicas, moved.isr, moved.is_reassigning) == ((1, 3), (1, 3), False)


async def test_preferred_leader_is_elected(tmp_path: Path) -> None:
    async with brokers(tmp_path, 2) as (first, second):
        await first.create("orders", [1, 2])
        await first.beat(fence=True)
        assert partition_of(first.controller, "orders").leader == 2
        assert await elect(second) == ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
        await first.beat()
        assert (await second.alter("orders", [2, 1])).isr == [2, 1]
        assert await elect(second) == ErrorCode.NONE
        assert partition_of(first.controller, "orders").leader == 1


async def elect(broker: WireBroker) -> int:
    """Requests the election of the topic's preferred leader; returns the error code of its partition."""
    request = ElectLeadersRequest(0, [ElectLeadersRequest.TopicPartitions("orders", [0])])
    response = await broker.enveloped(request, ElectLeadersResponse)
    return response.replica_election_results[0].partition_result[0].error_code


async def test_failed_directory_takes_its_leaderships(tmp_path: Path) -> None:
    async with brokers(tmp_path, 1) as (broker,):
        await broker.create("orders", [1])
        directory_id = partition_of(broker.controller, "orders").directories[0]
        await broker.beat(offline=[directory_id])
        assert partition_of(broker.controller, "orders").leader == NO_LEADER
        assert directory_id not in broker.controller.image.brokers[1].directories


async def test_reported_directory_is_stored(tmp_path: Path) -> None:
    async with brokers(tmp_path, 1) as (broker,):
        await broker.create("orders", [1])
        topic_id = broker.controller.image.topics_by_name["orders"].topic_id
        before = partition_of(broker.controller, "orders")
        (other,) = set(broker.directories) - set(before.directories)
        kind = AssignReplicasToDirsRequest
        topic = kind.TopicData(topic_id, [kind.PartitionData(0), kind.PartitionData(9)])
        request = kind(1, broker.epoch, [kind.DirectoryData(other, [topic])])
        response = await broker.send(request, AssignReplicasToDirsResponse)
        codes = [one.error_code for one in response.directories[0].topics[0].partitions]
        assert codes == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        after = partition_of(broker.controller, "orders")
        assert (after.directories, after.partition_epoch) == ((other,), before.partition_epoch + 1)


async def test_lost_directory_takes_leadership_and_isr_and_the_real_one_twice_gives_them_back(tmp_path: Path) -> None:
    """As the real controller, which judges who may lead by the directories before the request."""
    async with brokers(tmp_path, 2) as (first, second):
        await first.create("orders", [1, 2])
        topic_id = first.controller.image.topics_by_name["orders"].topic_id
        real = partition_of(first.controller, "orders").directories[0]

        async def report(directory_id: bytes) -> PartitionImage:
            kind = AssignReplicasToDirsRequest
            topic = kind.TopicData(topic_id, [kind.PartitionData(0)])
            request = kind(1, first.epoch, [kind.DirectoryData(directory_id, [topic])])
            await first.send(request, AssignReplicasToDirsResponse)
            return partition_of(first.controller, "orders")

        lost = await report(DIRECTORY_LOST)
        assert (lost.leader, lost.isr, lost.directories[0]) == (2, (2,), DIRECTORY_LOST)
        await second.alter("orders", [1, 2])
        assert partition_of(first.controller, "orders").isr == (1, 2), "it may follow, and join the ISR"
        await second.beat(fence=True)
        assert partition_of(first.controller, "orders").leader == NO_LEADER
        assert (await report(real)).leader == NO_LEADER
        assert (await report(real)).leader == 1


async def test_no_producer_id_is_given_out_twice(tmp_path: Path) -> None:
    async with brokers(tmp_path, 2) as members:
        blocks = [
            await one.send(AllocateProducerIdsRequest(one.node_id, one.epoch), AllocateProducerIdsResponse)
            for one in members
        ]
        assert [(one.producer_id_start, one.producer_id_len) for one in blocks] == [(0, 1000), (1000, 1000)]
        stale = await members[0].send(AllocateProducerIdsRequest(1, 1 << 40), AllocateProducerIdsResponse)
        assert stale.error_code == ErrorCode.STALE_BROKER_EPOCH


def fetch(
    controller: EmbeddedController,
    offset: int,
    last_epoch: int,
    *,
    leader_epoch: int = 1,
    high_watermark: int = -1,
    max_wait_ms: int = 0,
) -> FetchRequest:
    partition = FetchRequest.FetchPartition(
        0, leader_epoch, offset, last_epoch, partition_max_bytes=1 << 20, high_watermark=high_watermark
    )
    topic = FetchRequest.FetchTopic(METADATA_TOPIC, METADATA_TOPIC_ID, [partition])
    state = FetchRequest.ReplicaState(1, -1)
    return FetchRequest(controller.cluster_id, -1, state, max_wait_ms, max_bytes=1 << 20, topics=[topic])


async def fetched(broker: WireBroker, request: FetchRequest) -> FetchResponse.PartitionData:
    response = await broker.send(request, FetchResponse)
    assert response.error_code == ErrorCode.NONE
    assert [one.node_id for one in response.node_endpoints] == [3000]
    return response.responses[0].partitions[0]


async def test_metadata_log_is_fetched_with_its_leader(tmp_path: Path) -> None:
    async with brokers(tmp_path, 1) as (broker,):
        end = broker.controller.image.last_offset + 1
        whole = await fetched(broker, fetch(broker.controller, 0, 0))
        assert (whole.high_watermark, bytes(whole.records or b"")[:8]) == (end, bytes(8))
        for leader_epoch, code in ((0, ErrorCode.FENCED_LEADER_EPOCH), (2, ErrorCode.UNKNOWN_LEADER_EPOCH)):
            refused = await fetched(broker, fetch(broker.controller, 0, 0, leader_epoch=leader_epoch))
            assert refused.error_code == code
            assert (refused.current_leader.leader_id, refused.current_leader.leader_epoch) == (3000, 1)


async def test_log_that_is_longer_or_of_another_epoch_diverges(tmp_path: Path) -> None:
    async with brokers(tmp_path, 1) as (broker,):
        end = broker.controller.image.last_offset + 1
        longer = await fetched(broker, fetch(broker.controller, end + 5, 1))
        assert (longer.diverging_epoch.epoch, longer.diverging_epoch.end_offset) == (1, end)
        other = await fetched(broker, fetch(broker.controller, 2, 7))
        assert (other.diverging_epoch.epoch, other.diverging_epoch.end_offset) == (1, end)


async def test_fetch_waits_for_a_change(tmp_path: Path) -> None:
    async with brokers(tmp_path, 2) as (waiting, changing):
        end = waiting.controller.image.last_offset + 1
        request = fetch(waiting.controller, end, 1, high_watermark=end, max_wait_ms=60_000)
        answer = asyncio.ensure_future(fetched(waiting, request))
        await changing.create("orders", [1])
        grown = await answer
        assert grown.high_watermark > end
        assert int.from_bytes(bytes(grown.records or b"")[:8], "big") == end


async def test_other_cluster_is_refused(tmp_path: Path) -> None:
    async with brokers(tmp_path, 1) as (broker,):
        request = fetch(broker.controller, 0, 0)
        request.cluster_id = "another"
        assert (await broker.send(request, FetchResponse)).error_code == ErrorCode.INCONSISTENT_CLUSTER_ID


async def test_unserved_requests_are_refused(tmp_path: Path) -> None:
    async with brokers(tmp_path, 1) as (broker,):
        frame = encode_request(MetadataRequest(), 12, 7, "client")
        reader, writer = await asyncio.open_connection(broker.client.host, broker.client.port)
        writer.write(frame)
        assert await reader.read() == b""
        writer.close()
        inner = frame[4:]
        refused = await broker.send(EnvelopeRequest(inner, None, bytes(4)), EnvelopeResponse)
        assert refused.error_code == ErrorCode.INVALID_REQUEST
        short = await broker.send(EnvelopeRequest(inner, None, bytes(3)), EnvelopeResponse)
        assert short.error_code == ErrorCode.INVALID_REQUEST


async def test_snapshot_replaces_what_the_log_no_longer_has(tmp_path: Path) -> None:
    async with brokers(tmp_path, 1) as (broker,):
        await broker.create("orders", [1])
        snapshot_id = FetchSnapshotRequest.SnapshotId(0, 0)
        whole = await snapshot_part(broker, snapshot_id, 0, 1 << 20)
        assert whole.size == len(bytes(whole.unaligned_records or b"")) > 100
        rest = await snapshot_part(broker, snapshot_id, 100, 50)
        assert bytes(rest.unaligned_records or b"") == bytes(whole.unaligned_records or b"")[100:150]
        beyond = await snapshot_part(broker, snapshot_id, whole.size, 50)
        assert beyond.error_code == ErrorCode.POSITION_OUT_OF_RANGE
        unknown = await snapshot_part(broker, FetchSnapshotRequest.SnapshotId(1, 1), 0, 50)
        assert unknown.error_code == ErrorCode.SNAPSHOT_NOT_FOUND


async def snapshot_part(
    broker: WireBroker, snapshot_id: FetchSnapshotRequest.SnapshotId, position: int, max_bytes: int
) -> FetchSnapshotResponse.PartitionSnapshot:
    partition = FetchSnapshotRequest.PartitionSnapshot(0, 1, snapshot_id, position)
    topic = FetchSnapshotRequest.TopicSnapshot(METADATA_TOPIC, [partition])
    request = FetchSnapshotRequest(broker.controller.cluster_id, 1, max_bytes, [topic])
    response = await broker.send(request, FetchSnapshotResponse)
    assert response.error_code == ErrorCode.NONE
    return response.topics[0].partitions[0]
