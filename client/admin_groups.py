"""The admin client's part for groups: list, describe, delete, and their committed offsets.

Each group is asked of its coordinator; a list is put together from all brokers. Groups of the consumer protocol
(KIP-848) are described by ConsumerGroupDescribe, all others by DescribeGroups. Source:
``clients.admin.internals.DescribeConsumerGroupsHandler`` and its siblings.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple, TypeVar

from ..protocol.errors import ErrorCode, KafkaError
from ..protocol.messages.groups import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
)
from .admin_base import AdminBase
from .admin_results import all_or_raise
from .committed_offsets import commit_offsets, fetch_committed
from .connection import Connection
from .coordinator import Coordinator
from .errors import UnsupportedVersionError, broker_error
from .types import OffsetAndMetadata, TopicPartition, partitions_by_topic

Value = TypeVar("Value")
CONSUMER_PROTOCOL_TYPE = "consumer"


class GroupListing(NamedTuple):
    """A group in a list; state and type are empty where the broker is too old to say."""

    group_id: str
    protocol_type: str
    state: str
    group_type: str

    @property
    def is_consumer_group(self) -> bool:
        """Whether it is a group of consumers (or of nobody yet), not of Connect workers or share consumers."""
        is_consumer_type = self.group_type.lower() in ("classic", "consumer", "")
        return is_consumer_type and self.protocol_type in (CONSUMER_PROTOCOL_TYPE, "")


class MemberDescription(NamedTuple):
    """A member of a group."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    host: str
    assignment: tuple[TopicPartition, ...]


class GroupDescription(NamedTuple):
    """A group; ``state`` is Kafka's: Empty, PreparingRebalance, CompletingRebalance, Stable, Dead, Assigning …"""

    group_id: str
    state: str
    group_type: str
    protocol_type: str
    assignor: str
    coordinator: int
    coordinator_address: str
    members: list[MemberDescription]


class GroupAdmin(AdminBase):
    """Calls about groups; part of Admin."""

    def _coordinator(self, group_id: str) -> Coordinator:
        return Coordinator(self._cluster, group_id, timeout_ms=self._timeout_ms)

    async def list_groups(self, *, states: Collection[str] = (), types: Collection[str] = ()) -> list[GroupListing]:
        """All groups, or those in the states and of the types (classic, consumer, share …), sorted by id."""
        await self._cluster.refresh([])

        async def ask(node_id: int) -> ListGroupsResponse:
            connection = await self._cluster.connection(node_id)
            request = ListGroupsRequest(states_filter=list(states), types_filter=list(types))
            response = await connection.call(request, ListGroupsResponse)
            if response.error_code:
                raise broker_error(response.error_code, "ListGroups")
            return response

        answers = await asyncio.gather(*(ask(node_id) for node_id in self._cluster.metadata.brokers))
        found = {
            group.group_id: GroupListing(group.group_id, group.protocol_type, group.group_state, group.group_type)
            for answer in answers
            for group in answer.groups
        }
        return [found[group_id] for group_id in sorted(found)]

    async def describe_groups(self, group_ids: Iterable[str]) -> dict[str, GroupDescription]:
        """State, members and assignment of groups. Raises AdminError: GROUP_ID_NOT_FOUND, COORDINATOR_NOT_AVAILABLE …

        A group that does not exist is reported in state Dead by brokers before DescribeGroups 6 (KIP-1043).
        """
        wanted = list(group_ids)
        answers = await asyncio.gather(*(self._describe(group_id) for group_id in wanted), return_exceptions=True)
        return _gathered(wanted, answers)

    async def _describe(self, group_id: str) -> GroupDescription:
        from .group_protocol import decode_assignment  # here, because it would cost every list of groups 15 ms

        connection = await self._coordinator(group_id).connection()
        try:
            described = await self._describe_consumer(connection, group_id)
        except UnsupportedVersionError:
            described = None
        if described is not None:
            return described
        response = await connection.call(DescribeGroupsRequest(groups=[group_id]), DescribeGroupsResponse)
        group = response.groups[0]
        if group.error_code:
            raise broker_error(group.error_code, f"group '{group_id}'", group.error_message)
        is_consumer = group.protocol_type in (CONSUMER_PROTOCOL_TYPE, "")
        members = [
            MemberDescription(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                member.client_host,
                tuple(decode_assignment(member.member_assignment)) if is_consumer else (),
            )
            for member in group.members
        ]
        return GroupDescription(
            group_id,
            group.group_state,
            "Classic",
            group.protocol_type,
            group.protocol_data,
            self._node_of(connection),
            connection.address,
            members,
        )

    async def _describe_consumer(self, connection: Connection, group_id: str) -> GroupDescription | None:
        """The description of a group of the consumer protocol; None for a group of another type.

        Raises UnsupportedVersionError when the broker does not know such groups.
        """
        from ..protocol.messages.consumer_groups import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse

        request = ConsumerGroupDescribeRequest(group_ids=[group_id])
        response = await connection.call(request, ConsumerGroupDescribeResponse)
        group = response.groups[0]
        if group.error_code in (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION):
            return None
        if group.error_code:
            raise broker_error(group.error_code, f"group '{group_id}'", group.error_message)
        members = [
            MemberDescription(
                member.member_id,
                member.instance_id,
                member.client_id,
                member.client_host,
                tuple(
                    TopicPartition(topic.topic_name, number)
                    for topic in member.assignment.topic_partitions
                    for number in topic.partitions
                ),
            )
            for member in group.members
        ]
        return GroupDescription(
            group_id,
            group.group_state,
            "Consumer",
            CONSUMER_PROTOCOL_TYPE,
            group.assignor_name,
            self._node_of(connection),
            connection.address,
            members,
        )

    def _node_of(self, connection: Connection) -> int:
        at = (connection.host, connection.port)
        return next((b.node_id for b in self._cluster.metadata.brokers.values() if (b.host, b.port) == at), -1)

    async def delete_groups(self, group_ids: Iterable[str]) -> dict[str, None]:
        """Deletes groups with their offsets. Raises AdminError: NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND."""
        wanted = list(group_ids)

        async def delete(group_id: str) -> None:
            connection = await self._coordinator(group_id).connection()
            response = await connection.call(DeleteGroupsRequest(groups_names=[group_id]), DeleteGroupsResponse)
            for result in response.results:
                if result.error_code:
                    raise broker_error(result.error_code, f"group '{group_id}'")

        return _gathered(wanted, await asyncio.gather(*map(delete, wanted), return_exceptions=True))

    async def list_group_offsets(
        self, group_id: str, partitions: Collection[TopicPartition] | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """A group's committed offsets, of all partitions or of those named; missing ones are left out."""
        wanted = None if partitions is None else list(partitions)
        return await fetch_committed(
            self._cluster,
            self._coordinator(group_id),
            group_id,
            wanted,
            require_stable=False,
            timeout_ms=self._timeout_ms,
        )

    async def alter_group_offsets(self, group_id: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Sets committed offsets of a group without members. Raises KafkaError: UNKNOWN_MEMBER_ID when it has some."""
        if offsets:
            await commit_offsets(
                self._cluster, self._coordinator(group_id), group_id, offsets, timeout_ms=self._timeout_ms
            )

    async def delete_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, None]:
        """Forgets committed offsets. Raises KafkaError, AdminError: GROUP_SUBSCRIBED_TO_TOPIC, GROUP_ID_NOT_FOUND."""
        request = OffsetDeleteRequest(
            group_id=group_id,
            topics=[
                OffsetDeleteRequest.OffsetDeleteRequestTopic(
                    name=name,
                    partitions=[
                        OffsetDeleteRequest.OffsetDeleteRequestPartition(partition_index=number) for number in numbers
                    ],
                )
                for name, numbers in partitions_by_topic(partitions).items()
            ],
        )
        connection = await self._coordinator(group_id).connection()
        response = await connection.call(request, OffsetDeleteResponse)
        if response.error_code:
            raise broker_error(response.error_code, f"group '{group_id}'")
        errors: dict[TopicPartition, KafkaError] = {}
        results: dict[TopicPartition, None] = {}
        for topic in response.topics:
            for part in topic.partitions:
                partition = TopicPartition(topic.name, part.partition_index)
                if part.error_code:
                    errors[partition] = broker_error(part.error_code, str(partition))
                else:
                    results[partition] = None
        return all_or_raise(errors, results)


def _gathered(parts: list[str], answers: list[Value | BaseException]) -> dict[str, Value]:
    """Results by part; brokers' errors of single parts become AdminError, everything else is raised as it is."""
    errors: dict[str, KafkaError] = {}
    results: dict[str, Value] = {}
    for part, answer in zip(parts, answers, strict=True):
        if isinstance(answer, KafkaError):
            errors[part] = answer
        elif isinstance(answer, BaseException):
            raise answer
        else:
            results[part] = answer
    return all_or_raise(errors, results)
