"""A network between the nodes of a cluster on one machine: a line for each ordered pair that can be broken alone.

Every node advertises the port of its own proxy, so brokers, controllers and clients connect to it through the proxy. A
proxy port names the target only. The source is known from the system: the connection's local port leads to the inode
of its socket (``/proc/net/tcp``), and the open files of the nodes' processes lead from the inode to the node. That
works for any process (ours, a JVM) and any connection (fetches, heartbeats, markers), without a word of the protocol.

Tried on paper and dropped: a source address 127.0.0.x for each node (Kafka can't bind its outgoing connections), a
listener for each source (``inter.broker.listener.name`` has one value for all), client ids in the first request
(connections of markers and of controllers' clients carry none that names the node in the same way). Linux only.
"""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from support.tcp_proxy import TcpLine, TcpProxy

CLIENT = 0
"""The source of a connection that no node has made."""
TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
LOCAL, REMOTE, INODE = 1, 2, 9
"""Columns of these tables."""


def socket_inode(local_port: int, remote_port: int) -> str | None:
    """The inode of the socket that is connected from one port of this machine to another one."""
    ends = f":{local_port:04X}", f":{remote_port:04X}"
    for table in TABLES:
        for line in Path(table).read_text().splitlines()[1:]:
            columns = line.split()
            if columns[LOCAL].endswith(ends[0]) and columns[REMOTE].endswith(ends[1]):
                return columns[INODE]
    return None


def has_open(pid: int, inode: str) -> bool:
    """Whether a process has this socket."""
    with contextlib.suppress(OSError):  # the process has ended
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):  # the file was closed
                if os.readlink(entry.path) == f"socket:[{inode}]":
                    return True
    return False


class FireNetwork:
    """The proxies of all nodes, and the lines between them."""

    def __init__(self, running: Callable[[], Mapping[int, int]]) -> None:
        """``running``: node id -> process id of the nodes that run. It is called in the threads of proxies."""
        self._running = running
        self._proxies: dict[int, TcpProxy] = {}
        self._undo = contextlib.ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._undo.close()

    def door(self, node_id: int, port: int) -> int:
        """Puts a proxy before a node that listens at ``port``; the proxy's port."""
        proxy = self._proxies[node_id] = self._undo.enter_context(TcpProxy(port, self._source))
        return proxy.port

    def port(self, node_id: int) -> int:
        """The port of a node's proxy."""
        return self._proxies[node_id].port

    def line(self, source: int, target: int) -> TcpLine:
        """The connections that ``source`` makes to ``target``. Name it before the source connects."""
        return self._proxies[target].line(source)

    def draw_lines(self, sources: tuple[int, ...]) -> None:
        """Gives each source its line to each other node, before any of them connects."""
        for target, proxy in self._proxies.items():
            for source in sources:
                if source != target:
                    proxy.line(source)

    def lines(self) -> Iterator[tuple[int, int, TcpLine]]:
        """All lines that were named: source, target, line."""
        for target, proxy in self._proxies.items():
            for source, line in proxy.named_lines():
                yield source, target, line

    def heal(self) -> None:
        """Repairs everything."""
        for _, _, line in self.lines():
            line.heal()

    def _source(self, port: int, proxy_port: int) -> int:
        inode = socket_inode(port, proxy_port)
        if inode is not None:
            for node_id, pid in self._running().items():
                if has_open(pid, inode):
                    return node_id
        return CLIENT
