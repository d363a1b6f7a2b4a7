"""The requests of each client under fire: which one was answered last, and which ones are not answered.

A proxy between clients and a broker passes its bytes through a :class:`Conversation`. That works for every client
library. If a client makes no progress, :meth:`Requests.verdict` says whose fault it is: a broker that does not answer,
or a client whose requests were all answered and that sends no other.

Pure but for a lock: each proxy has a thread of its own. Invariant: a conversation keeps the head of a message only.
"""

import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from odradek.protocol.apis.api_keys import ApiKey

HEAD = struct.Struct(">ihhih")
"""The start of a request: size, API key, version, correlation id, length of the client id."""
ANSWER_HEAD = struct.Struct(">ii")
"""The start of a response: size, correlation id."""
SILENT_S = 15.0
"""A request that is open for longer counts against the broker. Long polls and rebalances take less."""


class Request(NamedTuple):
    """A request: its API, the node that got it, and the time in seconds when it was sent, or answered."""

    api: str
    node_id: int
    at_s: float


class Verdict(NamedTuple):
    """What is known of a worker that makes no progress: a text of several lines, and whether its client is to blame."""

    text: str = ""
    is_of_client: bool = False


@dataclass
class Client:
    """The requests of one client id."""

    answered: Request | None = None
    """The last answer that the client got."""
    open: dict[tuple[object, int], Request] = field(default_factory=dict)
    """Requests without an answer, on connections that are open: (conversation, correlation id) -> request."""


class Requests:
    """The requests of all clients."""

    def __init__(self, clock_s: Callable[[], float]) -> None:
        """``clock_s``: a monotonic clock, in seconds."""
        self._clock_s = clock_s
        self._clients: dict[str, Client] = {}
        self._lock = threading.Lock()

    def conversation(self, node_id: int) -> "Conversation":
        """A new connection to a node."""
        return Conversation(self, node_id)

    def sent(self, conversation: "Conversation", client_id: str, api_key: int, correlation_id: int) -> None:
        """Notes a request."""
        request = Request(_api(api_key), conversation.node_id, self._clock_s())
        with self._lock:
            self._clients.setdefault(client_id, Client()).open[conversation, correlation_id] = request

    def answered(self, conversation: "Conversation", client_id: str, correlation_id: int) -> None:
        """Notes the answer to a request."""
        with self._lock:
            client = self._clients[client_id]
            request = client.open.pop((conversation, correlation_id), None)
            if request is not None:
                client.answered = request._replace(at_s=self._clock_s())

    def closed(self, conversation: "Conversation") -> None:
        """Forgets the open requests of a connection that has ended: its client sends them again, or not."""
        with self._lock:
            for client in self._clients.values():
                for key in [key for key in client.open if key[0] is conversation]:
                    del client.open[key]

    def of(self, name: str) -> dict[str, Client]:
        """The clients whose ids have this name in them."""
        with self._lock:
            return {one: client for one, client in self._clients.items() if name in one}

    def verdict(self, name: str) -> Verdict:
        """What is known of a worker that makes no progress: its last answers, its open requests, whose fault it is."""
        now_s = self._clock_s()
        lines, silent = [], []
        for client_id, client in sorted(self.of(name).items()):
            last = client.answered
            known = "nothing" if last is None else f"{last.api} of broker {last.node_id} {now_s - last.at_s:.1f} s ago"
            waits = [f"{one.api} of broker {one.node_id} for {now_s - one.at_s:.1f} s" for one in client.open.values()]
            silent += [one for one in client.open.values() if now_s - one.at_s > SILENT_S]
            lines.append(f"{client_id}: answered last: {known}; open: {', '.join(waits) or 'none'}")
        if not lines:
            lines.append(f"no broker got a request of {name}: a fault of the client")
        elif silent:
            who = ", ".join(f"{one.api} of broker {one.node_id}" for one in silent)
            lines.append(f"a fault of the broker: no answer to {who}")
        else:
            lines.append("a fault of the client: all its requests were answered, or are younger than a long poll")
        return Verdict("\n".join(lines), not silent)


class Conversation:
    """One connection of a client to a node."""

    def __init__(self, requests: Requests, node_id: int) -> None:
        self.node_id = node_id
        self._requests = requests
        self._client_ids: dict[int, str] = {}
        """Correlation id -> client id of the open requests."""
        self._to_server, self._to_client = Frames(self._request_head), Frames(self._answer_head)

    def to_server(self, data: bytes) -> None:
        """Takes bytes that the client has sent."""
        self._to_server.take(data)

    def to_client(self, data: bytes) -> None:
        """Takes bytes that were passed on to the client."""
        self._to_client.take(data)

    def close(self) -> None:
        """The connection has ended."""
        self._requests.closed(self)

    def _request_head(self, head: bytes) -> bool:
        if len(head) < HEAD.size:
            return False
        _, api_key, _, correlation_id, length = HEAD.unpack_from(head)
        if len(head) < HEAD.size + max(0, length):
            return False
        client_id = head[HEAD.size : HEAD.size + max(0, length)].decode(errors="replace")
        self._client_ids[correlation_id] = client_id
        self._requests.sent(self, client_id, api_key, correlation_id)
        return True

    def _answer_head(self, head: bytes) -> bool:
        if len(head) < ANSWER_HEAD.size:
            return False
        _, correlation_id = ANSWER_HEAD.unpack_from(head)
        client_id = self._client_ids.pop(correlation_id, None)
        if client_id is not None:
            self._requests.answered(self, client_id, correlation_id)
        return True


class Frames:
    """Messages with their size in front, of which only the heads are looked at."""

    def __init__(self, takes_head: Callable[[bytes], bool]) -> None:
        """``takes_head`` gets the bytes of a message so far, its size included; it returns whether they suffice."""
        self._takes_head = takes_head
        self._head = b""
        self._left = 0
        """The bytes of the present message that are skipped."""

    def take(self, data: bytes) -> None:
        """Takes the next bytes."""
        while data:
            if self._left:
                skipped = min(self._left, len(data))
                self._left -= skipped
                data = data[skipped:]
                continue
            self._head += data
            data = b""
            if not self._takes_head(self._head):
                return
            whole = 4 + struct.unpack_from(">i", self._head)[0]
            data, self._left = self._head[whole:], max(0, whole - len(self._head))
            self._head = b""


def _api(key: int) -> str:
    try:
        return ApiKey(key).name
    except ValueError:
        return f"API {key}"
