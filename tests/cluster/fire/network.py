"""A network between the nodes of a cluster on one machine: a line for each ordered pair, which can be broken alone.

Every node advertises the port of its proxy to the other nodes, and the port of another one to clients. A proxy port
only determines the target. The system determines the source: the kernel has the inode of the socket at the other end of
a connection (sock_diag(7), 0.1 ms), and the open files of the nodes' processes map the inode to the node. That works
for any process (ours, a JVM) and any connection (fetches, heartbeats, markers), without reading the protocol. Clients
have other proxies, because they connect repeatedly while a broker is down.

Not possible: a source address 127.0.0.x for each node (Kafka can't bind its outgoing connections), a listener for each
source (``inter.broker.listener.name`` has one value for all), the client id in the first request (not every connection
has the node), ``/proc/net/tcp`` (10 ms for each connection on a busy machine: many connections delayed heartbeats).
Linux only.
"""

import contextlib
import os
import socket
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import TracebackType
from typing import Self

from cluster.tcp_proxy import TcpLine, TcpProxy
from support.fire.requests import Requests

CLIENT = 0
"""The source of connections of clients."""
NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST = 4, 20, 1
HEADER = struct.Struct("=IHHII")
"""The netlink header: length, type, flags, sequence, port."""
WANTED = struct.Struct("=BBBxI")
"""The start of a sock_diag request: family, protocol, extensions, states."""
END = socket.inet_aton("127.0.0.1") + bytes(12)
ANY_INTERFACE_NO_COOKIE = struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)
INODE_AT = HEADER.size + 68


def socket_inode(local_port: int, remote_port: int) -> int | None:
    """The inode of the socket of this machine that is connected from one port of 127.0.0.1 to another one."""
    body = WANTED.pack(socket.AF_INET, socket.IPPROTO_TCP, 0, 0xFFFFFFFF)
    body += struct.pack("!HH", local_port, remote_port) + END + END + ANY_INTERFACE_NO_COOKIE
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as kernel:
        kernel.send(HEADER.pack(HEADER.size + len(body), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 1, 0) + body)
        answer = kernel.recv(4096)
    if HEADER.unpack_from(answer)[1] != SOCK_DIAG_BY_FAMILY:
        return None  # it is already closed
    inode: int = struct.unpack_from("=I", answer, INODE_AT)[0]
    return inode


def has_open(pid: int, inode: int) -> bool:
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
        """``running``: returns node id -> process id of the running nodes. It is called in the threads of proxies."""
        self.requests = Requests(time.monotonic)
        """The requests of all clients."""
        self._running = running
        self._peers: dict[int, TcpProxy] = {}
        self._clients: dict[int, TcpProxy] = {}
        self._undo = contextlib.ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._undo.close()

    def door(self, node_id: int, port: int) -> int:
        """Puts a proxy before the port of a node to which other nodes connect; returns the proxy's port."""
        proxy = self._peers[node_id] = self._undo.enter_context(TcpProxy(port, self._source))
        return proxy.port

    def clients_door(self, node_id: int, port: int) -> int:
        """The same for the port to which clients connect. Their requests are in :attr:`requests`."""
        watch = partial(self.requests.conversation, node_id)
        proxy = self._clients[node_id] = self._undo.enter_context(TcpProxy(port, watch=watch))
        return proxy.port

    def clients_port(self, node_id: int) -> int:
        """The port that clients connect to."""
        return self._clients[node_id].port

    def line(self, source: int, target: int) -> TcpLine:
        """The connections that ``source`` (a node, or CLIENT) makes to ``target``."""
        return self._clients[target] if source == CLIENT else self._peers[target].line(source)

    def draw_lines(self, sources: tuple[int, ...]) -> None:
        """Creates the line from each of these nodes to each other one, before any of them connects."""
        for target, proxy in self._peers.items():
            for source in sources:
                if source != target:
                    proxy.line(source)

    def lines(self) -> Iterator[tuple[int, int, TcpLine]]:
        """All lines: source, target, line."""
        for target, proxy in self._peers.items():
            for source, line in proxy.named_lines():
                yield source, target, line
        for target, proxy in self._clients.items():
            yield CLIENT, target, proxy

    def heal(self) -> None:
        """Repairs all lines."""
        for _, _, line in self.lines():
            line.heal()

    def _source(self, port: int, proxy_port: int) -> int:
        inode = socket_inode(port, proxy_port)
        if inode is not None:
            for node_id, pid in self._running().items():
                if has_open(pid, inode):
                    return node_id
        return CLIENT
