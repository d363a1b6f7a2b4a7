"""What a session may ask the broker that started the console: by the ACLs of its user.

Owns: the rights. Never does: answering. The log and the connections name other users, so they need a right on the
cluster: DESCRIBE_CONFIGS for the log, DESCRIBE for the connections. Rebalances need DESCRIBE on their group.
"""

from typing import cast

from odradek.protocol.messages.metadata import DescribeClusterRequest, DescribeClusterResponse

from ..context import Context, Json
from ..errors import ConsoleError
from .broker_line import BrokerLine

DESCRIBE, DESCRIBE_CONFIGS = 8, 10
"""The bits of ``AclOperation`` in the operations that a response says to be allowed."""
NEEDS = {"log": ("DESCRIBE_CONFIGS", DESCRIBE_CONFIGS), "connections": ("DESCRIBE", DESCRIBE)}
"""Insight -> the operation on the cluster that it needs."""


class SessionInsights:
    """The insights of one session."""

    def __init__(self, line: BrokerLine, context: Context) -> None:
        self._line = line
        self._context = context

    async def ask(self, name: str, **arguments: Json) -> Json:
        """Asks the broker. Raises ConsoleError: 403 if the user may not see it."""
        if name in NEEDS:
            operation, bit = NEEDS[name]
            if not await self._allowed_operations() >> bit & 1:
                raise ConsoleError(403, f"this needs {operation} on the cluster", "CLUSTER_AUTHORIZATION_FAILED")
        answer = await self._line.ask(name, arguments)
        if name != "rebalances":
            return answer
        seen = {group.group_id for group in await self._context.admin.list_groups()}
        document = cast("dict[str, Json]", answer)
        rows = cast("list[dict[str, Json]]", document["rebalances"])
        return {**document, "rebalances": [row for row in rows if row["group"] in seen]}

    async def _allowed_operations(self) -> int:
        connection = await self._context.cluster.any_connection()
        request = DescribeClusterRequest(include_cluster_authorized_operations=True)
        response = await connection.call(request, DescribeClusterResponse)
        return 0 if response.error_code else response.cluster_authorized_operations
