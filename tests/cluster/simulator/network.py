"""The network between simulated processes: ports of 127.0.0.1, and connections with delays, stalls and breaks.

Owns: the bytes in transit, and the cut directions between nodes. Never does: losing bytes in the middle of a connection
(TCP does not). A cut direction delivers nothing until it is healed. The other end does not notice it, so a connection
can be open on one side only. Bytes of different connections may overtake each other.
"""

import asyncio
import random
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Any

from cluster.simulator.loop import SimulatedLoop, pass_time
from cluster.simulator.processes import Process, current

HOST = "127.0.0.1"
DELAYS_S = (0.0001, 0.0003, 0.001, 0.003, 0.02)
DELAY_WEIGHTS = (30, 40, 20, 8, 2)
EOF, RESET = "eof", "reset"
Chunk = bytes | str


class Pipe:
    """One direction of a connection. Bytes arrive in order."""

    def __init__(self, network: "Network", source: str, target: "End") -> None:
        self.network = network
        self.source = source
        self.target = target
        self.chunks: deque[tuple[float, Chunk]] = deque()
        self._is_armed = False
        self._last_s = 0.0

    def send(self, chunk: Chunk) -> None:
        at_s = max(self._last_s, self.network.loop.time() + self.network.delay_s())
        self._last_s = at_s
        self.chunks.append((at_s, chunk))
        self.arm()

    def arm(self) -> None:
        """Delivers the next chunk when it arrives."""
        if self.chunks and not self._is_armed and self.target.is_receiving:
            self._is_armed = True
            self.network.loop.call_at(self.chunks[0][0], self._arrive, context=self.target.context)

    def _arrive(self) -> None:
        self._is_armed = False
        if self.network.is_cut(self.source, self.target.process.node):
            self.network.stalled[self] = None
            return
        if self.target.is_receiving:
            _, chunk = self.chunks.popleft()
            self.target.deliver(chunk)
            self.arm()


class End(asyncio.Transport):
    """One end of a connection: the transport for the protocol of its process, and the accepted socket."""

    def __init__(self, network: "Network", process: Process, context: Context, address: tuple[str, int]) -> None:
        super().__init__()
        self.network = network
        self.process = process
        self.context = context
        self.address = address
        self.other: End
        self.incoming: Pipe
        self._protocol: Any = None
        self._is_reading = True
        self._is_closing = False
        self.is_lost = False

    @property
    def is_receiving(self) -> bool:
        return self._protocol is not None and self._is_reading and not self.is_lost

    @property
    def has_unread(self) -> bool:
        """Whether bytes have arrived that the process has not read."""
        chunks = self.incoming.chunks
        return bool(chunks) and chunks[0][0] <= self.network.loop.time()

    def begin(self, protocol: Any) -> None:
        self._protocol = protocol
        protocol.connection_made(self)
        self.incoming.arm()

    def deliver(self, chunk: Chunk) -> None:
        """Takes the bytes that have arrived."""
        if isinstance(chunk, str):
            self.network.loop.note(chunk.encode())
            if chunk == RESET:
                self._lose(ConnectionResetError(104, "Connection reset by peer"))
            elif not self._protocol.eof_received():
                self.close()
            return
        self.network.loop.note(chunk)
        if not isinstance(self._protocol, asyncio.BufferedProtocol):
            self._protocol.data_received(chunk)
            return
        left = memoryview(chunk)
        while left and not self.is_lost:
            buffer = memoryview(self._protocol.get_buffer(-1))
            size = min(len(buffer), len(left))
            buffer[:size] = left[:size]
            left = left[size:]
            self._protocol.buffer_updated(size)

    def _lose(self, error: Exception | None) -> None:
        if not self.is_lost:
            self.is_lost = self._is_closing = True
            self.network.ends.pop(self, None)
            if self._protocol is not None:
                self.network.loop.call_soon(self._protocol.connection_lost, error, context=self.context)

    def break_off(self) -> None:
        """Closes the connection after the process has died. The other end notices that."""
        self.is_lost = True
        self.network.ends.pop(self, None)
        self.other.incoming.send(RESET)

    # asyncio.Transport -------------------------------------------------------

    def write(self, data: Any) -> None:
        if data and not self._is_closing:
            self.other.incoming.send(bytes(data))

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(list_of_data))

    def close(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            self.other.incoming.send(EOF)
            self._lose(None)

    def abort(self) -> None:
        if not self.is_lost:
            self._is_closing = True
            self.other.incoming.send(RESET)
            self._lose(None)

    def is_closing(self) -> bool:
        return self._is_closing

    def pause_reading(self) -> None:
        self._is_reading = False

    def resume_reading(self) -> None:
        self._is_reading = True
        self.incoming.arm()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Does nothing: the buffers of this network are large."""

    def get_write_buffer_size(self) -> int:
        """Never 0, so that writes use :meth:`write`: an end has no descriptor."""
        return 1

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        known = {"socket": self, "peername": self.other.address, "sockname": self.address}
        return known.get(name, default)

    def set_protocol(self, protocol: Any) -> None:
        self._protocol = protocol

    def get_protocol(self) -> Any:
        return self._protocol

    # An accepted socket ------------------------------------------------------

    def fileno(self) -> int:
        return -1

    def setblocking(self, _: bool) -> None:
        """Does nothing: no call blocks."""


class Listening:
    """A listening socket."""

    def __init__(self, network: "Network", process: Process, port: int) -> None:
        self.port = port
        self.process = process
        self.backlog: deque[End] = deque()
        self.on_readable: Callable[[], None] | None = None
        self.context = process.context
        self._network = network

    def fileno(self) -> int:
        return self.port

    def getsockname(self) -> tuple[str, int]:
        return HOST, self.port

    def accept(self) -> tuple[End, tuple[str, int]]:
        if not self.backlog:
            raise BlockingIOError
        end = self.backlog.popleft()
        return end, end.other.address

    def close(self) -> None:
        if self._network.listening.get(self.port) is self:
            del self._network.listening[self.port]
        for end in self.backlog:
            end.break_off()
        self.backlog.clear()

    def wake(self) -> None:
        """Tells the process that connections wait."""
        if self.on_readable is not None and self.backlog:
            self._network.loop.call_soon(self.on_readable, context=self.context)

    # The methods of start_server's result
    def is_serving(self) -> bool:
        return self.on_readable is not None


class Network:
    """All connections of one life."""

    def __init__(self, loop: SimulatedLoop, chance: random.Random) -> None:
        self.loop = loop
        self.chance = chance
        self.listening: dict[int, Listening] = {}
        self.ends: dict[End, None] = {}
        self.cuts: dict[tuple[str, str], None] = {}
        self.stalled: dict[Pipe, None] = {}
        self.slow = 1.0
        """The factor by which all delays are longer."""
        self._healed = asyncio.Event()
        self._next_port = 40_000
        loop.sockets = self

    def delay_s(self) -> float:
        return self.slow * self.chance.choices(DELAYS_S, DELAY_WEIGHTS)[0] * (0.5 + self.chance.random())

    # Faults ------------------------------------------------------------------

    def is_cut(self, source: str, target: str) -> bool:
        return (source, target) in self.cuts

    def cut(self, source: str, target: str) -> None:
        """Cuts the direction from ``source`` to ``target``."""
        self.cuts[source, target] = None

    def heal(self, source: str, target: str, *, breaks: bool) -> None:
        """Heals a direction: bytes in transit arrive, or with ``breaks`` the connections are broken."""
        self.cuts.pop((source, target), None)
        self._healed.set()
        self._healed = asyncio.Event()
        stalled = [pipe for pipe in self.stalled if (pipe.source, pipe.target.process.node) == (source, target)]
        for pipe in stalled:
            del self.stalled[pipe]
            if breaks:
                pipe.chunks.clear()
                pipe.send(RESET)
            else:
                pipe.arm()

    def process_died(self, process: Process) -> None:
        """Closes the sockets of a dead process."""
        for listening in [one for one in self.listening.values() if one.process is process]:
            listening.on_readable = None
            listening.close()
        for end in [one for one in self.ends if one.process is process]:
            end.break_off()

    # Sockets -----------------------------------------------------------------

    def bind(self, port: int) -> Listening:
        assert port, "processes of the simulation have fixed ports"
        if port in self.listening:
            raise OSError(98, "Address already in use")
        listening = self.listening[port] = Listening(self, current.get(), port)
        return listening

    async def connect(self, factory: Callable[[], Any], port: int) -> tuple[End, Any]:
        process = current.get()
        node = node_at(port)
        await self._pass(process.node, node)
        listening = self.listening.get(port)
        if listening is None:
            await self._pass(node, process.node)
            raise ConnectionRefusedError(111, "Connection refused")
        near = End(self, process, copy_context(), (HOST, self._new_port()))
        far = End(self, listening.process, listening.context, (HOST, port))
        near.other, far.other = far, near
        near.incoming, far.incoming = Pipe(self, far.process.node, near), Pipe(self, near.process.node, far)
        self.ends[near] = self.ends[far] = None
        listening.backlog.append(far)
        listening.wake()
        try:
            await self._pass(node, process.node)
        except asyncio.CancelledError:
            near.abort()
            raise
        protocol = factory()
        near.begin(protocol)
        return near, protocol

    async def _pass(self, source: str, target: str) -> None:
        """Delivers a packet without a connection, with a delay, and repeated until a cut is healed."""
        await pass_time(self.delay_s())
        while self.is_cut(source, target):
            await self._healed.wait()
            await pass_time(self.delay_s())

    def _new_port(self) -> int:
        self._next_port += 1
        return self._next_port

    def accept(self, factory: Callable[[], Any], accepted: End) -> tuple[End, Any]:
        protocol = factory()
        accepted.begin(protocol)
        return accepted, protocol

    def listen(self, factory: Callable[[], Any], listening: Listening) -> Listening:
        def accept_all() -> None:
            while listening.backlog:
                self.accept(factory, listening.accept()[0])

        self.add_reader(listening.port, accept_all)
        return listening

    def add_reader(self, descriptor: int, callback: Callable[[], None]) -> None:
        listening = self.listening[descriptor]
        listening.on_readable = callback
        listening.context = copy_context()
        listening.wake()

    def remove_reader(self, descriptor: int) -> bool:
        listening = self.listening.get(descriptor)
        if listening is not None:
            listening.on_readable = None
        return listening is not None


def port_of(node_id: int) -> int:
    """The port of a broker or controller."""
    return 10_000 + node_id


def node_at(port: int) -> str:
    """The node that has a port."""
    return f"n{port - 10_000}"
