"""A bounded queue that serves its clients in turn.

Pure. Owns: the queued items of each client. Never does: I/O, waiting. Invariants: a client's items leave in their
order; between two items of one client, every other client with queued items is served once; the queue holds at most
``max_count`` items, and at most ``max_bytes`` unless it is one item. Source: Kafka's queue of a
NodeToControllerRequestThread has no limit, because its processors stop at ``queued.max.requests``.
"""

from collections import deque
from typing import Generic, TypeVar

Item = TypeVar("Item")


class ClientItems(Generic[Item]):
    """The queued items of one client with their sizes in bytes, and the sum of the sizes."""

    __slots__ = ("items", "size")

    def __init__(self) -> None:
        self.items: deque[tuple[Item, int]] = deque()
        self.size = 0

    def append(self, item: Item, size: int) -> None:
        """Adds the newest."""
        self.items.append((item, size))
        self.size += size

    def pop_first(self) -> tuple[Item, int]:
        """Removes the oldest."""
        item, size = self.items.popleft()
        self.size -= size
        return item, size

    def pop_last(self) -> tuple[Item, int]:
        """Removes the newest."""
        item, size = self.items.pop()
        self.size -= size
        return item, size


class FairQueue(Generic[Item]):
    """The items of all clients."""

    def __init__(self, max_count: int, max_bytes: int) -> None:
        self.size = 0
        """Bytes of all items."""
        self._max_count = max_count
        self._max_bytes = max_bytes
        self._count = 0
        self._clients: dict[str, ClientItems[Item]] = {}
        """In the order in which they are served."""

    def __len__(self) -> int:
        return self._count

    def put(self, client: str, item: Item, size: int) -> list[Item]:
        """Adds an item. Returns the items that were dropped because the queue was over a limit.

        Drops the newest items of the client with the most bytes, or with the most items if only the count is over its
        limit. The new item may be among them.
        """
        of_client = self._clients.get(client)
        if of_client is None:
            of_client = self._clients[client] = ClientItems()
        of_client.append(item, size)
        self._count += 1
        self.size += size
        dropped: list[Item] = []
        while self._count > 1 and (self._count > self._max_count or self.size > self._max_bytes):
            dropped.append(self._drop(client, by_bytes=self.size > self._max_bytes))
        return dropped

    def _drop(self, arrived: str, *, by_bytes: bool) -> Item:
        def share(client: str) -> tuple[int, bool]:
            of_client = self._clients[client]
            return of_client.size if by_bytes else len(of_client.items), client == arrived

        largest = max(self._clients, key=share)
        item, size = self._clients[largest].pop_last()
        self._left(largest, size)
        return item

    def pop(self) -> Item:
        """Removes the oldest item of the client whose turn it is. Raises IndexError if nothing waits."""
        client = next(iter(self._clients), None)
        if client is None:
            raise IndexError("no request waits")
        of_client = self._clients.pop(client)
        self._clients[client] = of_client
        item, size = of_client.pop_first()
        self._left(client, size)
        return item

    def _left(self, client: str, size: int) -> None:
        self._count -= 1
        self.size -= size
        if not self._clients[client].items:
            del self._clients[client]
