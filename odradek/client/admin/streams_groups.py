"""The admin client's part for streams groups (KIP-1071): describe them.

Their committed offsets are read, set and deleted as those of all groups are, and so are the groups listed and deleted
(:class:`GroupAdmin`). Source: ``clients.admin.internals.DescribeStreamsGroupsHandler``.
"""

from collections.abc import Iterable, Sequence

from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.streams_groups import StreamsGroupDescribeRequest, StreamsGroupDescribeResponse

from ..cluster.connection import BrokerConnection
from ..errors import UnsupportedVersionError, broker_error
from .base import AdminBase
from .coordinators import GROUP_KEY, ask_coordinators
from .streams_group_descriptions import StreamsGroupDescription, streams_description

DESCRIPTIONS_SINCE = 1
"""The first version of StreamsGroupDescribe with the descriptions of topologies."""


class StreamsGroupAdmin(AdminBase):
    """Calls about streams groups; part of Admin."""

    async def describe_streams_groups(
        self, group_ids: Iterable[str], *, include_topology_description: bool = False
    ) -> dict[str, StreamsGroupDescription]:
        """State, topology, members and tasks of streams groups. Raises AdminError: GROUP_ID_NOT_FOUND …

        ``include_topology_description``: asks for the nodes of the topologies, too (Kafka 4.4). Raises
        UnsupportedVersionError if the broker is older than Kafka 4.4.
        """

        async def describe(
            connection: BrokerConnection, part: Sequence[str]
        ) -> dict[str, StreamsGroupDescription | KafkaError]:
            request = StreamsGroupDescribeRequest(
                group_ids=list(part), include_topology_description=include_topology_description
            )
            if include_topology_description and connection.version_for(type(request)) < DESCRIPTIONS_SINCE:
                raise UnsupportedVersionError("the broker has no descriptions of topologies: it is before Kafka 4.4")
            response = await connection.call(request, StreamsGroupDescribeResponse)
            node_id = self._node_of(connection)
            return {
                group.group_id: broker_error(group.error_code, f"group '{group.group_id}'", group.error_message)
                if group.error_code
                else streams_description(group, node_id, connection.address)
                for group in response.groups
            }

        return await ask_coordinators(self._cluster, GROUP_KEY, group_ids, describe, timeout_ms=self._timeout_ms)
