"""The broker's end of the line to its console's process: answers what only the broker knows.

    {"id": 1, "ask": "log", "after": 7, "lines": 100}   the console asks
    {"id": 1, "answer": {...}}                          the broker answers, or {"id": 1, "error": "..."}
    {"log": ["WARNING", "..."]}                         the console logs a line

Shell. Owns: the line, and what is kept for it while it is open. Never does: checking who may see what; the console's
process does, since it knows the users. Invariants: nothing is kept before :meth:`connection_made`, nor after the line
has ended; a request is at most MOST_REQUEST_BYTES; its answer is made in one turn if it is small, otherwise in slices.
"""

import asyncio
import json
import logging
import time
from collections.abc import Callable, Iterator
from typing import Any, cast

from odradek.protocol.common.steps import Steps

from ..insights.client_connections import OpenConnection, count_connections
from ..insights.log_ring import MOST_LINES, LogRing
from ..insights.rebalance_history import RebalanceHistory
from ..timers.work import KindOfWork
from .broker import Broker

logger = logging.getLogger(__name__)
console_logger = logging.getLogger("odradek.console")

ANSWERS = KindOfWork("console-line", "answers the console's process")
MOST_REQUEST_BYTES = 64 * 1024
LEVELS = {"DEBUG": logging.DEBUG, "INFO": logging.INFO, "WARNING": logging.WARNING, "ERROR": logging.ERROR}


class ConsoleLine(asyncio.Protocol):
    """The line to one process of the console."""

    def __init__(self, broker: Broker, settings: dict[str, object], ended: Callable[[], None]) -> None:
        """``settings``: the first line to the process. ``ended`` is called once, when the process has ended."""
        self._broker = broker
        self._settings = settings
        self._ended = ended
        self._transport: asyncio.Transport | None = None
        self._unread = b""
        self._log = LogRing(time.monotonic)
        self._rebalances = RebalanceHistory()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The process was started: the insights are kept from now on."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is not derived from it
        logging.getLogger().addHandler(self._log)
        self._rebalances.attach()
        self._write(self._settings)

    def connection_lost(self, exc: Exception | None) -> None:
        """The process has ended."""
        self._transport = None
        logging.getLogger().removeHandler(self._log)
        self._rebalances.detach()
        ANSWERS.call(self._ended)

    def close(self) -> None:
        """Ends the line, and with it the process."""
        if self._transport is not None:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        """Takes the lines that are complete."""
        *lines, self._unread = (self._unread + data).split(b"\n")
        if len(self._unread) > MOST_REQUEST_BYTES:
            logger.error("the console's process sent a line of more than %d bytes", MOST_REQUEST_BYTES)
            self.close()
            return
        for line in lines:
            ANSWERS.call(self._take, line)

    def _take(self, line: bytes) -> None:
        request = json.loads(line)
        if "log" in request:
            level, message = request["log"]
            console_logger.log(LEVELS.get(level, logging.INFO), "%s", message)
            return
        name = request["ask"]
        if name == "connections":
            self._broker.slices.start_background(self._count(request["id"]), "an answer to the console")
        elif name == "log":
            self._answer(request["id"], self._log_lines(int(request["after"]), int(request["lines"])))
        elif name == "rebalances":
            self._answer(request["id"], self._rebalance_rows(request.get("group")))
        else:
            self._write({"id": request["id"], "error": f"the broker knows nothing about {name}"})

    def _answer(self, number: int, answer: object) -> None:
        self._write({"id": number, "answer": answer})

    def _write(self, line: dict[str, Any]) -> None:
        if self._transport is not None:
            self._transport.write(json.dumps(line).encode() + b"\n")

    # 64-bit numbers are texts, because the page's language has none.

    def _log_lines(self, after: int, most: int) -> object:
        lines = self._log.after(after, min(most, MOST_LINES))
        return {
            "level": logging.getLevelName(logging.getLogger().getEffectiveLevel()),
            "lines": [
                {
                    "time": str(line.time_ms),
                    "level": line.level,
                    "logger": line.logger,
                    "message": line.message,
                    "leftOut": line.left_out,
                }
                for line in lines
            ],
            "last": lines[-1].number if lines else after,
        }

    def _rebalance_rows(self, group: str | None) -> object:
        return {
            "level": logging.getLevelName(logging.getLogger("odradek.broker.groups").getEffectiveLevel()),
            "rebalances": [
                {
                    "group": one.group_id,
                    "type": one.group_type,
                    "time": str(one.begin_ms),
                    "generation": one.generation,
                    "reason": one.reason,
                    "duration": None if one.end_ms is None else (one.end_ms - one.begin_ms) / 1000,
                    "members": one.members,
                }
                for one in self._rebalances.last()
                if group is None or one.group_id == group
            ],
        }

    def _count(self, number: int) -> Steps[None]:
        counts = yield from count_connections(self._open_connections())
        rows = [
            {**row.connected_as._asdict(), "connections": row.connections, "idle": round(row.idle_s, 1)}
            for row in counts.rows
        ]
        self._answer(number, {"total": counts.total, "connections": rows, "others": counts.others})

    def _open_connections(self) -> Iterator[OpenConnection]:
        now_ms = self._broker.timers.now_ms()
        for one in self._broker.connections:
            idle_s = max(0.0, now_ms - one.last_used_ms) / 1000
            yield OpenConnection(one.listener_name, one.software, one.principal, idle_s)
