"""Asks the broker that runs on a log directory where its logs end (odradek/broker/server/snapshot_sockets.py).

Shell. Owns: the connection. While it is open, the broker keeps the files that are in the cut. Never does: files.
"""

import errno
import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from odradek.storage.directory.snapshot_door import MOST_BYTES, has_abstract_sockets, socket_name, user_of_peer
from odradek.storage.files.regular_files import fault_text

ANSWER_S = 60.0
PAUSE_S = 0.005
STAY_S = 10.0
"""The time after which the command asks the broker again to keep the files."""


class SnapshotError(Exception):
    """The snapshot or the restore can't be done. The text says why and what to do."""


class BrokerLink:
    """The connection to the broker that has a log directory open."""

    def __init__(self, directory: Path) -> None:
        """Connects. Raises SnapshotError."""
        self._directory = directory
        self._lines = b""
        self._last_s = 0.0
        if not has_abstract_sockets():
            raise SnapshotError("snapshots of a running broker need Linux; stop the broker and copy its directories")
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(ANSWER_S)
        try:
            self._socket.connect(socket_name(directory))
            user = user_of_peer(self._socket)
            owner = os.stat(directory).st_uid
        except OSError as error:
            self._socket.close()
            raise SnapshotError(
                f"{directory}: no broker of Odradek answers for this directory ({fault_text(error)}). If a broker runs:"
                " run this command on its machine, in its container, and as its user or root. If none runs, copy the"
                " directory"
            ) from error
        if user not in (0, owner):
            self._socket.close()
            raise SnapshotError(f"{directory}: what answers for it belongs to user {user}, the directory to {owner}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def cut(self) -> dict[str, Any]:
        """Takes the cut. Waits while the broker still opens logs after a start, or looks up their files. Raises
        SnapshotError."""
        while not (answer := self._ask({"ask": "cut"}))["isTaken"]:
            time.sleep(PAUSE_S)
        return answer

    def logs(self) -> Iterator[dict[str, Any]]:
        """The logs of the cut; one with many segments comes in parts, one after the other. Raises SnapshotError."""
        while page := self._ask({"ask": "page"})["logs"]:
            yield from page

    def segment(self, index: int, number: int) -> dict[str, Any]:
        """Where a segment of the cut is now. Raises SnapshotError."""
        return self._ask({"ask": "segment", "index": index, "number": number})

    def stay(self) -> None:
        """Says that the snapshot is still being taken, if that was not said for some seconds. Raises SnapshotError."""
        if time.monotonic() - self._last_s > STAY_S:
            self._ask({"ask": "wait"})

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            self._socket.sendall(json.dumps(request).encode() + b"\n")
            while b"\n" not in self._lines:
                more = self._socket.recv(1 << 20)
                if not more or len(self._lines) > MOST_BYTES:
                    raise ConnectionResetError(errno.ECONNRESET, "the connection has ended")
                self._lines += more
        except TimeoutError as error:
            raise SnapshotError(f"{self._directory}: the broker has not answered for {ANSWER_S:.0f} s") from error
        except OSError as error:
            raise SnapshotError(
                f"{self._directory}: the broker has ended, or has given up this snapshot: {fault_text(error)}"
            ) from error
        line, _, self._lines = self._lines.partition(b"\n")
        self._last_s = time.monotonic()
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise SnapshotError(f"{self._directory}: the broker answers: {answer['error']}")
        return answer
