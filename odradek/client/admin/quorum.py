"""The admin client's part for the metadata quorum. Source: ``describeMetadataQuorum``; KIP-595, KIP-836, KIP-853."""

from collections.abc import Sequence
from typing import NamedTuple

from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.quorum import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)
from odradek.protocol.names.topics import METADATA_TOPIC

from ..errors import broker_error
from ..types import ControllerEndpoint
from .base import AdminBase


class QuorumReplica(NamedTuple):
    """A voter or an observer; times in ms since 1970, -1 if unknown."""

    node_id: int
    directory_id: bytes
    log_end_offset: int
    last_fetch_timestamp: int
    last_caught_up_timestamp: int


class QuorumDescription(NamedTuple):
    """The state of the quorum as its leader sees it; ``endpoints``: the listeners of each voter."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: list[QuorumReplica]
    observers: list[QuorumReplica]
    endpoints: dict[int, list[ControllerEndpoint]]


class QuorumAdmin(AdminBase):
    """Calls about the metadata quorum; part of Admin."""

    async def describe_metadata_quorum(self) -> QuorumDescription:
        """The leader, the voters and the observers. Raises KafkaError."""
        partition = DescribeQuorumRequest.PartitionData(0)
        request = DescribeQuorumRequest([DescribeQuorumRequest.TopicData(METADATA_TOPIC, [partition])])
        response = await self._controller_call(request, DescribeQuorumResponse)
        if response.error_code:
            raise broker_error(response.error_code, "DescribeQuorum", response.error_message)
        if not response.topics or not response.topics[0].partitions:
            raise broker_error(ErrorCode.UNKNOWN_SERVER_ERROR, "DescribeQuorum", "the answer has no partition")
        found = response.topics[0].partitions[0]
        if found.error_code:
            raise broker_error(found.error_code, "DescribeQuorum", found.error_message)
        endpoints = {
            node.node_id: [
                ControllerEndpoint(listener.name, listener.host, listener.port) for listener in node.listeners
            ]
            for node in response.nodes
        }
        return QuorumDescription(
            found.leader_id,
            found.leader_epoch,
            found.high_watermark,
            [_replica(replica) for replica in found.current_voters],
            [_replica(replica) for replica in found.observers],
            endpoints,
        )

    async def add_raft_voter(self, voter_id: int, directory_id: bytes, endpoints: Sequence[ControllerEndpoint]) -> None:
        """Makes an observing controller a voter. ``endpoints``: its listeners.

        Raises KafkaError, UnsupportedVersionError.
        """
        listeners = [AddRaftVoterRequest.Listener(*endpoint) for endpoint in endpoints]
        request = AddRaftVoterRequest(None, int(self._timeout_ms), voter_id, directory_id, listeners)
        response = await self._controller_call(request, AddRaftVoterResponse)
        if response.error_code:
            raise broker_error(response.error_code, f"controller {voter_id}", response.error_message)

    async def remove_raft_voter(self, voter_id: int, directory_id: bytes) -> None:
        """Makes a voter an observer. Raises KafkaError, UnsupportedVersionError."""
        request = RemoveRaftVoterRequest(None, voter_id, directory_id)
        response = await self._controller_call(request, RemoveRaftVoterResponse)
        if response.error_code:
            raise broker_error(response.error_code, f"controller {voter_id}", response.error_message)


def _replica(state: DescribeQuorumResponse.ReplicaState) -> QuorumReplica:
    return QuorumReplica(
        state.replica_id,
        state.replica_directory_id,
        state.log_end_offset,
        state.last_fetch_timestamp,
        state.last_caught_up_timestamp,
    )
