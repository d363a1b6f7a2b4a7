"""The console's end of the line to the broker that started it.

Owns: asking the broker what only it knows, sending it the console's own log, seeing its end; what a session may ask, by
the ACLs of its user. The log and the connections name other users, so they need a right on the cluster:
DESCRIBE_CONFIGS for the log, DESCRIBE for the connections. Rebalances need DESCRIBE on their group. The lines are in
``broker/server/console_answers.py``.
"""

import asyncio
import json
import logging
import socket
from typing import cast

from odradek.protocol.messages.metadata import DescribeClusterRequest, DescribeClusterResponse

from ..arguments import ConsoleError
from ..context import Context, Json

MAX_LINE_BYTES = 8 << 20
MAX_QUESTIONS = 8
"""The most questions that wait for their answers."""
PATIENCE_S = 10.0


class BrokerLine(logging.Handler):
    """The line. As a handler of the log, it sends the lines to the broker, whose log they become a part of."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter("%(message)s"))  # the broker's log adds the level and the rest
        self._writer: asyncio.StreamWriter | None = None
        self._reader: asyncio.StreamReader | None = None
        self._answers: dict[int, asyncio.Future[Json]] = {}
        self._number = 0
        self._questions = asyncio.Semaphore(MAX_QUESTIONS)

    async def open(self, descriptor: int) -> dict[str, Json]:
        """Takes the descriptor over, and returns the settings that the broker sends first. Raises OSError."""
        line = socket.socket(fileno=descriptor)
        self._reader, self._writer = await asyncio.open_unix_connection(sock=line, limit=MAX_LINE_BYTES)
        settings: dict[str, Json] = json.loads(await self._reader.readline())
        return settings

    async def read(self) -> None:
        """Takes answers until the broker has ended."""
        assert self._reader is not None
        while text := await self._reader.readline():
            line = json.loads(text)
            waiting = self._answers.pop(line["id"], None)
            if waiting is None or waiting.done():
                continue
            if "error" in line:
                waiting.set_exception(ConsoleError(400, line["error"], "NO_SUCH_INSIGHT"))
            else:
                waiting.set_result(line["answer"])

    async def ask(self, name: str, arguments: dict[str, Json]) -> Json:
        """Asks the broker. Raises ConsoleError."""
        async with self._questions:
            self._number += 1
            number = self._number
            answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
            self._answers[number] = answer
            self._write({**arguments, "id": number, "ask": name})
            try:
                async with asyncio.timeout(PATIENCE_S):
                    return await answer
            except TimeoutError:
                raise ConsoleError(504, "the broker has not answered the console", "REQUEST_TIMED_OUT") from None
            finally:
                self._answers.pop(number, None)

    def emit(self, record: logging.LogRecord) -> None:
        """Sends a line of the console's log to the broker."""
        self._write({"log": [record.levelname, self.format(record)[:8000]]})

    def _write(self, line: dict[str, Json]) -> None:
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(json.dumps(line).encode() + b"\n")


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
