"""The admin client's part for groups: list, describe, delete, and their committed offsets.

Requests about one group go to its coordinator; ListGroups goes to all brokers and the answers are merged. Groups of
the consumer protocol (KIP-848) are described by ConsumerGroupDescribe, all others by DescribeGroups. Source:
``clients.admin.internals.DescribeConsumerGroupsHandler`` and its siblings.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.groups import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
)

from ..cluster.connection import BrokerConnection
from ..cluster.coordinator import CoordinatorConnection
from ..errors import AdminError, UnsupportedVersionError, broker_error
from ..group.committed_offsets import commit_offsets, fetch_committed
from ..types import OffsetAndMetadata, TopicPartition, partitions_by_topic
from .base import AdminBase, all_or_raise
from .coordinators import GROUP_KEY, ask_all_brokers, ask_coordinators
from .group_descriptions import (
    GroupDescription,
    GroupListing,
    MemberDescription,
    classic_description,
    consumer_description,
)

with lazy_imports:
    from odradek.protocol.messages import consumer_groups

__all__ = ["GroupAdmin", "GroupDescription", "GroupListing", "MemberDescription"]


class GroupAdmin(AdminBase):
    """Calls about groups; part of Admin."""

    def _coordinator(self, group_id: str) -> CoordinatorConnection:
        return CoordinatorConnection(self._cluster, group_id, timeout_ms=self._timeout_ms)

    async def list_groups(self, *, states: Collection[str] = (), types: Collection[str] = ()) -> list[GroupListing]:
        """All groups, or those in the states and of the types (classic, consumer, share …), sorted by id."""
        request = ListGroupsRequest(states_filter=list(states), types_filter=list(types))

        async def ask(connection: BrokerConnection) -> ListGroupsResponse:
            response = await connection.call(request, ListGroupsResponse)
            if response.error_code:
                raise broker_error(response.error_code, "ListGroups")
            return response

        answers = await ask_all_brokers(self._cluster, ask, timeout_ms=self._timeout_ms)
        found = {
            group.group_id: GroupListing(group.group_id, group.protocol_type, group.group_state, group.group_type)
            for answer in answers.values()
            for group in answer.groups
        }
        return [found[group_id] for group_id in sorted(found)]

    async def describe_groups(self, group_ids: Iterable[str]) -> dict[str, GroupDescription]:
        """State, members and assignment of groups. Raises AdminError: GROUP_ID_NOT_FOUND, COORDINATOR_NOT_AVAILABLE …

        A group that does not exist is reported in state Dead by brokers before DescribeGroups 6 (KIP-1043).
        """
        return await ask_coordinators(self._cluster, GROUP_KEY, group_ids, self._describe, timeout_ms=self._timeout_ms)

    async def _describe(
        self, connection: BrokerConnection, group_ids: Sequence[str]
    ) -> dict[str, GroupDescription | KafkaError]:
        """Describes groups of one coordinator: by ConsumerGroupDescribe, then the remaining ones by DescribeGroups."""
        described = await self._describe_consumer(connection, group_ids)
        classic = [group_id for group_id in group_ids if group_id not in described]
        if not classic:
            return described
        response = await connection.call(DescribeGroupsRequest(groups=classic), DescribeGroupsResponse)
        node_id = self._node_of(connection)
        for group in response.groups:
            if group.error_code:
                described[group.group_id] = broker_error(
                    group.error_code, f"group '{group.group_id}'", group.error_message
                )
            else:
                described[group.group_id] = classic_description(group, node_id, connection.address)
        return described

    async def _describe_consumer(
        self, connection: BrokerConnection, group_ids: Sequence[str]
    ) -> dict[str, GroupDescription | KafkaError]:
        """Describes those of the groups that use the consumer protocol, and leaves the others out of the result."""
        request = consumer_groups.ConsumerGroupDescribeRequest(group_ids=list(group_ids))
        try:
            response = await connection.call(request, consumer_groups.ConsumerGroupDescribeResponse)
        except UnsupportedVersionError:
            return {}
        node_id = self._node_of(connection)
        described: dict[str, GroupDescription | KafkaError] = {}
        for group in response.groups:
            if group.error_code in (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION):
                continue
            if group.error_code:
                described[group.group_id] = broker_error(
                    group.error_code, f"group '{group.group_id}'", group.error_message
                )
            else:
                described[group.group_id] = consumer_description(group, node_id, connection.address)
        return described

    async def delete_groups(self, group_ids: Iterable[str]) -> dict[str, None]:
        """Deletes groups with their offsets. Raises AdminError: NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND."""

        async def delete(connection: BrokerConnection, part: Sequence[str]) -> dict[str, KafkaError | None]:
            response = await connection.call(DeleteGroupsRequest(groups_names=list(part)), DeleteGroupsResponse)
            return {
                result.group_id: broker_error(result.error_code, f"group '{result.group_id}'")
                if result.error_code
                else None
                for result in response.results
            }

        return await ask_coordinators(self._cluster, GROUP_KEY, group_ids, delete, timeout_ms=self._timeout_ms)

    async def remove_group_members(self, group_id: str, members: Iterable[MemberDescription]) -> None:
        """Removes members from a group of the classic protocol; ignores those that have left already.

        A static member is removed by its group.instance.id. Raises KafkaError.
        Source: ``KafkaAdminClient.getMembersFromGroup``.
        """
        identity, reason = LeaveGroupRequest.MemberIdentity, "member was removed by an admin"
        request = LeaveGroupRequest(
            group_id=group_id,
            members=[
                identity("", member.group_instance_id, reason)
                if member.group_instance_id
                else identity(member.member_id, None, reason)
                for member in members
            ],
        )

        async def remove(connection: BrokerConnection, _: Sequence[str]) -> dict[str, KafkaError | None]:
            response = await connection.call(request, LeaveGroupResponse)
            codes = [response.error_code, *(member.error_code for member in response.members)]
            failed = [code for code in codes if code not in (ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID)]
            return {group_id: broker_error(failed[0], f"group '{group_id}'") if failed else None}

        try:
            await ask_coordinators(self._cluster, GROUP_KEY, [group_id], remove, timeout_ms=self._timeout_ms)
        except AdminError as error:
            raise error.errors[group_id] from None

    async def list_group_offsets(
        self, group_id: str, partitions: Collection[TopicPartition] | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """A group's committed offsets, of these partitions or of all (None). Partitions without one are left out."""
        listed_partitions = None if partitions is None else list(partitions)
        return await fetch_committed(
            self._cluster,
            self._coordinator(group_id),
            group_id,
            listed_partitions,
            require_stable=False,
            timeout_ms=self._timeout_ms,
        )

    async def alter_group_offsets(self, group_id: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Sets committed offsets of a group. Raises KafkaError: UNKNOWN_MEMBER_ID if the group has members."""
        if offsets:
            await commit_offsets(
                self._cluster, self._coordinator(group_id), group_id, offsets, timeout_ms=self._timeout_ms
            )

    async def delete_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, None]:
        """Deletes committed offsets. Raises KafkaError, AdminError: GROUP_SUBSCRIBED_TO_TOPIC, GROUP_ID_NOT_FOUND."""
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

        async def delete(
            connection: BrokerConnection, _: Sequence[str]
        ) -> dict[str, OffsetDeleteResponse | KafkaError]:
            response = await connection.call(request, OffsetDeleteResponse)
            if response.error_code:
                return {group_id: broker_error(response.error_code, f"group '{group_id}'")}
            return {group_id: response}

        try:
            answers = await ask_coordinators(self._cluster, GROUP_KEY, [group_id], delete, timeout_ms=self._timeout_ms)
        except AdminError as error:
            raise error.errors[group_id] from None
        errors: dict[TopicPartition, KafkaError] = {}
        results: dict[TopicPartition, None] = {}
        for topic in answers[group_id].topics:
            for part in topic.partitions:
                partition = TopicPartition(topic.name, part.partition_index)
                if part.error_code:
                    errors[partition] = broker_error(part.error_code, str(partition))
                else:
                    results[partition] = None
        return all_or_raise(errors, results)
