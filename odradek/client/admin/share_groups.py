"""The admin client's part for share groups (KIP-932): describe them, and read, set or delete their offsets.

Share groups are listed and deleted as all groups are (:class:`GroupAdmin`). Requests go to the group's coordinator.
Source: ``clients.admin.internals``: ``DescribeShareGroupsHandler``, ``ListShareGroupOffsetsHandler``,
``AlterShareGroupOffsetsHandler``, ``DeleteShareGroupOffsetsHandler``.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.share_groups import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsResponse,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)

from ..cluster.connection import BrokerConnection
from ..errors import AdminError, broker_error
from ..types import TopicPartition, partitions_by_topic
from .base import AdminBase, all_or_raise, split
from .coordinators import GROUP_KEY, ask_coordinators
from .group_descriptions import GroupDescription, MemberDescription

SHARE_GROUP = "Share"
SHARE_PROTOCOL_TYPE = "share"

Response = TypeVar("Response", AlterShareGroupOffsetsResponse, DeleteShareGroupOffsetsResponse)


class SharePartitionOffset(NamedTuple):
    """Where a share group is in a partition. Source: ``SharePartitionOffsetInfo``."""

    start_offset: int
    """All records before it are finished: accepted, rejected or given up."""
    leader_epoch: int
    lag: int | None
    """The number of records that are not finished. None if the broker does not know it, or is older than Kafka 4.2."""


class ShareGroupAdmin(AdminBase):
    """Calls about share groups; part of Admin."""

    async def describe_share_groups(self, group_ids: Iterable[str]) -> dict[str, GroupDescription]:
        """State, members and assignment of share groups. Raises AdminError: GROUP_ID_NOT_FOUND …

        ``assignor`` is the name of the server's assignor.
        """

        async def describe(
            connection: BrokerConnection, part: Sequence[str]
        ) -> dict[str, GroupDescription | KafkaError]:
            request = ShareGroupDescribeRequest(group_ids=list(part))
            response = await connection.call(request, ShareGroupDescribeResponse)
            node_id = self._node_of(connection)
            return {
                group.group_id: broker_error(group.error_code, f"group '{group.group_id}'", group.error_message)
                if group.error_code
                else share_description(group, node_id, connection.address)
                for group in response.groups
            }

        return await ask_coordinators(self._cluster, GROUP_KEY, group_ids, describe, timeout_ms=self._timeout_ms)

    async def list_share_group_offsets(
        self, group_ids: Iterable[str]
    ) -> dict[str, dict[TopicPartition, SharePartitionOffset | None]]:
        """The offsets of each group; None for a partition whose start is not known yet.

        Partitions with an error are left out, as in Kafka. Raises AdminError for the errors of groups.
        """

        async def ask(
            connection: BrokerConnection, part: Sequence[str]
        ) -> dict[str, dict[TopicPartition, SharePartitionOffset | None] | KafkaError]:
            wanted = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup
            request = DescribeShareGroupOffsetsRequest(groups=[wanted(group_id, None) for group_id in part])
            response = await connection.call(request, DescribeShareGroupOffsetsResponse)
            return {
                group.group_id: broker_error(group.error_code, f"group '{group.group_id}'", group.error_message)
                if group.error_code
                else share_offsets(group)
                for group in response.groups
            }

        return await ask_coordinators(self._cluster, GROUP_KEY, group_ids, ask, timeout_ms=self._timeout_ms)

    async def alter_share_group_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, None]:
        """Sets the start offsets of a group without members. A group that does not exist is created.

        Raises KafkaError: NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND for a group of another type; AdminError for partitions.
        """
        if not offsets:
            return {}
        topic_of, partition_of = (
            AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic,
            AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestPartition,
        )
        request = AlterShareGroupOffsetsRequest(
            group_id=group_id,
            topics=[
                topic_of(
                    topic_name=name,
                    partitions=[partition_of(number, offsets[TopicPartition(name, number)]) for number in numbers],
                )
                for name, numbers in partitions_by_topic(offsets).items()
            ],
        )
        response = await self._ask_one(group_id, request, AlterShareGroupOffsetsResponse)
        answers = [
            (TopicPartition(topic.topic_name, part.partition_index), part.error_code, part.error_message, None)
            for topic in response.responses
            for part in topic.partitions
        ]
        return all_or_raise(*split(answers))

    async def delete_share_group_offsets(self, group_id: str, topics: Iterable[str]) -> dict[str, None]:
        """Deletes the offsets of topics.

        Raises KafkaError: NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND; AdminError for topics.
        """
        topic_of = DeleteShareGroupOffsetsRequest.DeleteShareGroupOffsetsRequestTopic
        request = DeleteShareGroupOffsetsRequest(group_id=group_id, topics=[topic_of(topic) for topic in topics])
        response = await self._ask_one(group_id, request, DeleteShareGroupOffsetsResponse)
        answers = [(topic.topic_name, topic.error_code, topic.error_message, None) for topic in response.responses]
        return all_or_raise(*split(answers))

    async def _ask_one(
        self,
        group_id: str,
        request: AlterShareGroupOffsetsRequest | DeleteShareGroupOffsetsRequest,
        response_type: type[Response],
    ) -> Response:
        """Asks the group's coordinator. Raises KafkaError for an error of the whole request."""

        async def ask(connection: BrokerConnection, _: Sequence[str]) -> dict[str, Response | KafkaError]:
            response = await connection.call(request, response_type)
            if response.error_code:
                return {group_id: broker_error(response.error_code, f"group '{group_id}'", response.error_message)}
            return {group_id: response}

        try:
            answers = await ask_coordinators(self._cluster, GROUP_KEY, [group_id], ask, timeout_ms=self._timeout_ms)
        except AdminError as error:
            raise error.errors[group_id] from None
        return answers[group_id]


def share_description(
    group: ShareGroupDescribeResponse.DescribedGroup, coordinator: int, coordinator_address: str
) -> GroupDescription:
    """A share group. Pure."""
    members = [
        MemberDescription(
            member.member_id,
            None,
            member.client_id,
            member.client_host,
            tuple(
                TopicPartition(topic.topic_name, number)
                for topic in member.assignment.topic_partitions
                for number in topic.partitions
            ),
            None,
            member.member_epoch,
        )
        for member in group.members
    ]
    return GroupDescription(
        group.group_id,
        group.group_state,
        SHARE_GROUP,
        SHARE_PROTOCOL_TYPE,
        group.assignor_name,
        coordinator,
        coordinator_address,
        members,
        group.group_epoch,
        group.assignment_epoch,
    )


def share_offsets(
    group: DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup,
) -> dict[TopicPartition, SharePartitionOffset | None]:
    """The offsets of a group's partitions that have no error. Pure."""
    return {
        TopicPartition(topic.topic_name, part.partition_index): SharePartitionOffset(
            part.start_offset, part.leader_epoch, part.lag if part.lag >= 0 else None
        )
        if part.start_offset >= 0
        else None
        for topic in group.topics
        for part in topic.partitions
        if not part.error_code
    }
