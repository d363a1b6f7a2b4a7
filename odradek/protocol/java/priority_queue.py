"""Java's PriorityQueue: among elements of equal priority, its binary heap decides which one comes first.

Pure. Owns: that order; Python's ``heapq`` has another one. Invariant: the priority of an element is that of the time at
which it was added. Source: ``java.util.PriorityQueue`` (``siftUp``, ``siftDown``).
"""

from collections.abc import Iterable
from typing import Generic, TypeVar

Element = TypeVar("Element")


class PriorityQueue(Generic[Element]):
    """Elements with priorities; the lowest priority is first. Adding and polling take O(log n) steps."""

    def __init__(self, elements: Iterable[tuple[float, Element]] = ()) -> None:
        """``elements``: pairs of priority and element, which are added one by one."""
        self._heap: list[tuple[float, Element]] = []
        for priority, element in elements:
            self.add(priority, element)

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, priority: float, element: Element) -> None:
        """Adds an element."""
        heap = self._heap
        place = len(heap)
        entry = (priority, element)
        heap.append(entry)
        while place > 0:
            parent = (place - 1) // 2
            if priority >= heap[parent][0]:
                break
            heap[place] = heap[parent]
            place = parent
        heap[place] = entry

    def poll(self) -> Element:
        """Removes and returns the first element. Raises IndexError if there is none."""
        heap = self._heap
        last = heap.pop()
        if not heap:
            return last[1]
        first = heap[0][1]
        place, size = 0, len(heap)
        while (child := 2 * place + 1) < size:
            if child + 1 < size and heap[child][0] > heap[child + 1][0]:
                child += 1
            if last[0] <= heap[child][0]:
                break
            heap[place] = heap[child]
            place = child
        heap[place] = last
        return first
