"""The sockets at which `odradek storage snapshot` asks this broker where its logs end: one for each log directory.

Shell. Owns: the sockets, the one snapshot that is being taken, and that deleted files are kept meanwhile. Never does:
reading or copying files. Invariants: a process of another user gets no answer. A request is one line of JSON and its
answer another one, made in one turn of the event loop. Without a request for a minute, or when the command ends, the
files that were kept are removed when they are due. Source: :mod:`odradek.storage.directory.snapshot_door`.

    {"ask": "cut"}      where the logs end now: {"isTaken": true, "logs": 120, ...}. If "isTaken" is false, not all logs
                        are open or known yet, and the command asks again
    {"ask": "page"}     the next logs of the cut: {"logs": [...]}; an empty list after the last one
    {"ask": "segment", "index": 7, "number": 0}     where a file is now that the command did not find any more
    {"ask": "wait"}     keep the files for another minute
"""

import asyncio
import json
import logging
import os
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any, cast

from odradek.protocol.errors import KafkaError
from odradek.storage.directory.log_directories import LogDirectories
from odradek.storage.directory.snapshot_door import has_abstract_sockets, socket_name, user_of_peer
from odradek.storage.files.disk_errors import text_of

from ..timers.work import KindOfWork
from .background import Background
from .snapshot_cut import Cutter, LogCut, pages, segment_now

logger = logging.getLogger(__name__)

SNAPSHOTS = KindOfWork("snapshot-socket", "answers the command that copies the files of a running broker")
MOST_REQUEST_BYTES = 1024
PATIENCE_S = 60.0
"""The time without a request after which the command is taken for dead."""
BUSY = "another snapshot of this broker is being taken; wait until it has ended"
NO_CUT = "the cut comes first"
CUT_ALREADY = "the cut was taken already"
NOT_FOUND = "the cut has no such segment"


class SnapshotSockets:
    """The sockets, while the broker serves."""

    def __init__(
        self, log_dirs: LogDirectories, background: Background, facts: dict[str, Any], clock_ms: Callable[[], int]
    ) -> None:
        """``facts``: what the answer to a cut has besides, such as the node's id. ``clock_ms``: ms since 1970."""
        self._log_dirs = log_dirs
        self._background = background
        self._facts = facts
        self._clock_ms = clock_ms
        self._servers: list[asyncio.AbstractServer] = []
        self._taking: Conversation | None = None

    async def open(self) -> None:
        """Listens. Without abstract sockets (not Linux), or if a socket can't be made, snapshots can't be taken."""
        if not has_abstract_sockets():
            return
        loop = asyncio.get_running_loop()
        for directory in self._log_dirs.all_online:
            listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
            try:
                listening.bind(socket_name(directory.path))
                self._servers.append(await loop.create_unix_server(lambda: Conversation(self), sock=listening))
            except OSError as error:
                listening.close()
                logger.warning("%s: no snapshots can be taken while this broker runs: %s", directory.path, error)

    def close(self) -> None:
        """Ends the snapshot that is being taken, and closes the sockets."""
        if self._taking is not None:
            self._taking.end()
        for server in self._servers:
            server.close()
        self._servers = []

    def begin(self, conversation: "Conversation") -> str | None:
        """Keeps deleted files for a snapshot. Returns why that can't be, None if it can."""
        if self._taking not in (None, conversation):
            return BUSY
        self._taking = conversation
        self._background.hold_removals()
        return None

    def ended(self, conversation: "Conversation") -> None:
        """Removes deleted files again, if this was the conversation that kept them."""
        if self._taking is conversation:
            self._taking = None
            self._background.release_removals()

    def cutter(self) -> Cutter:
        """What takes the cut of all logs."""
        return Cutter(self._log_dirs.all_online)

    def is_ready(self) -> bool:
        """Whether all logs are open. A start opens those that no client asks for a few at a time."""
        return not any(True for directory in self._log_dirs.all_online for _ in directory.unopened())

    def cut(self, cutter: Cutter) -> dict[str, Any]:
        """Takes the cut of all logs. Returns the answer."""
        directories = self._log_dirs.all_online
        began_ns = time.perf_counter_ns()
        cutter.cut()
        turn_us = (time.perf_counter_ns() - began_ns) // 1000
        return {
            **self._facts,
            "isTaken": True,
            "logs": sum(len(directory.logs) for directory in directories),
            "atMs": self._clock_ms(),
            "turnUs": turn_us,
            "directories": [str(directory.path) for directory in directories],
            "unreadable": [
                str(found.path)
                for directory in directories
                for key, found in directory.found.items()
                if key in directory.unreadable
            ],
            "offline": [str(path) for path in self._log_dirs.offline],
        }


class Conversation(asyncio.Protocol):
    """One connection of the command."""

    def __init__(self, sockets: SnapshotSockets) -> None:
        self._sockets = sockets
        self._transport: asyncio.Transport | None = None
        self._unread = b""
        self._cutter: Cutter | None = None
        self._is_cut = False
        self._cuts: list[LogCut] = []
        self._pages: Iterator[list[dict[str, Any]]] = iter(())
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Refuses a process of another user."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is not derived from it
        self._do(self._check_user)

    def data_received(self, data: bytes) -> None:
        """Answers the requests of the lines that are complete."""
        self._do(self._take, data)

    def connection_lost(self, exc: Exception | None) -> None:
        """The snapshot is taken, or the command was killed."""
        self._transport = None
        self.end()

    def end(self) -> None:
        """Ends the snapshot and the connection."""
        if self._timer is not None:
            self._timer.cancel()
        self._cutter, self._cuts, self._pages = None, [], iter(())
        self._sockets.ended(self)
        if self._transport is not None:
            self._transport.close()

    def _do(self, step: Callable[..., None], *arguments: bytes) -> None:
        """Carries out a step. If it raises, the conversation ends: no client waits for an answer or stays unchecked."""
        failures = SNAPSHOTS.failures
        SNAPSHOTS.call(step, *arguments)
        if SNAPSHOTS.failures != failures:
            self.end()

    def _check_user(self) -> None:
        assert self._transport is not None
        if user_of_peer(self._transport.get_extra_info("socket")) not in (0, os.geteuid()):
            self._transport.abort()

    def _take(self, data: bytes) -> None:
        *lines, self._unread = (self._unread + data).split(b"\n")
        if len(lines) > 1 or len(self._unread) > MOST_REQUEST_BYTES:
            self.end()  # the command waits for each answer
        elif lines:
            self._answer(lines[0])

    def _answer(self, line: bytes) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        self._stay()
        try:
            request = json.loads(line)
            answer = self._answer_to(request["ask"], request)
        except OSError as error:
            answer = {"error": f"{text_of(error)}; take the snapshot again"}
        except KafkaError as error:
            answer = {"error": error.message}
        except (ValueError, LookupError, TypeError) as error:
            answer = {"error": f"the request can't be read: {error!r}"}
        self._transport.write(json.dumps(answer).encode() + b"\n")

    def _answer_to(self, ask: str, request: dict[str, Any]) -> dict[str, Any]:
        if ask == "cut":
            return self._cut()
        if self._cutter is None or not self._is_cut:
            return {"error": NO_CUT}
        if not self._cuts:
            self._cuts = self._cutter.cuts()
            self._pages = pages(self._cutter, self._cuts)
        if ask == "page":
            return {"logs": next(self._pages, [])}
        if ask == "segment":
            index, number = int(request["index"]), int(request["number"])
            if not (0 <= index < len(self._cuts) and 0 <= number < len(self._cuts[index].segments)):
                return {"error": NOT_FOUND}
            return segment_now(self._cutter, self._cuts[index], number)
        if ask == "wait":
            return {}
        return {"error": f"the requests are cut, page, segment and wait, not {ask!r}"}

    def _cut(self) -> dict[str, Any]:
        busy = self._sockets.begin(self)
        if busy is not None:
            return {"error": busy}
        if self._is_cut:
            return {"error": CUT_ALREADY}
        if self._cutter is None and self._sockets.is_ready():
            self._cutter = self._sockets.cutter()
        if self._cutter is None or not self._cutter.prepare():
            return {"isTaken": False}
        self._is_cut = True
        return self._sockets.cut(self._cutter)

    def _stay(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = SNAPSHOTS.later(PATIENCE_S, self.end)
