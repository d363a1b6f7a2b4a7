"""The metadata that each node of a test cluster has, and waiting until all have a certain state.

Owns: the ``threading.Condition`` that every change of an image notifies. Never does: polling. Methods that wait may be
called from any thread except those of the nodes' event loops.
"""

import threading
import time
from collections.abc import Callable, Iterable

from odradek.broker.metadata.image.image import MetadataDelta, MetadataImage, PartitionImage
from odradek.protocol.common.steps import Steps

TIMEOUT_S = 60.0
"""How long to wait before a test fails."""


class ClusterState:
    """The metadata of a cluster, as its nodes have it now."""

    def __init__(self, images: Callable[[], Iterable[MetadataImage]]) -> None:
        """``images`` returns the metadata of all nodes that can know the latest; the controller's comes first."""
        self._images = images
        self._changed = threading.Condition()

    def changed(self, image: MetadataImage, delta: MetadataDelta) -> Steps[None]:
        """The subscriber to the metadata of each node: wakes the threads that wait."""
        self.look_again()
        yield

    def look_again(self) -> None:
        """Wakes the threads that wait; called when a node has new metadata, starts, pauses or ends."""
        with self._changed:
            self._changed.notify_all()

    @property
    def image(self) -> MetadataImage:
        """The controller's metadata, as an immutable image."""
        return next(iter(self._images()))

    def partition(self, topic: str, index: int = 0) -> PartitionImage:
        """One partition in the controller's metadata. Raises KeyError if it does not exist."""
        found = self.image.partition(topic, index)
        if found is None:
            known = self.image.topics_by_name.get(topic)
            partitions = (
                "the topic does not exist" if known is None else f"the partitions are {sorted(known.partitions)}"
            )
            raise KeyError(f"{topic}-{index}: {partitions}")
        return found

    def wait_until(
        self, what: str, condition: Callable[[MetadataImage], bool], timeout_s: float = TIMEOUT_S
    ) -> MetadataImage:
        """Waits until a condition is true for the metadata of every node; returns the controller's metadata.

        Raises TimeoutError; its message has ``what`` and the controller's brokers and partitions.
        """
        deadline_s = time.monotonic() + timeout_s
        with self._changed:
            while True:
                images = list(self._images())
                if all(condition(image) for image in images):
                    return images[0]
                left_s = deadline_s - time.monotonic()
                if left_s <= 0:
                    raise TimeoutError(f"not true after {timeout_s:g} s: {what}; the controller has {shown(images[0])}")
                self._changed.wait(left_s)

    def wait_until_in_sync(self, topic: str, isr: frozenset[int] | None, index: int | None, timeout_s: float) -> None:
        """Waits until the partitions of a topic, or the one at ``index``, have this ISR (None: all their replicas)."""

        def is_in_sync(image: MetadataImage) -> bool:
            found = image.topics_by_name.get(topic)
            if found is None:
                return False
            wanted = found.partitions.values() if index is None else [found.partitions[index]]
            return all(set(partition.isr) == (set(partition.replicas) if isr is None else isr) for partition in wanted)

        self.wait_until(f"the replicas of {topic} are in sync", is_in_sync, timeout_s)

    def wait_until_fenced(self, node_id: int, timeout_s: float = TIMEOUT_S) -> None:
        """Waits until a broker is fenced: its session has ended, or it has stopped."""
        self.wait_until(f"broker {node_id} is fenced", lambda image: image.brokers[node_id].fenced, timeout_s)

    def wait_until_unfenced(self, node_id: int, timeout_s: float = TIMEOUT_S) -> None:
        """Waits until a broker is registered and not fenced."""

        def is_unfenced(image: MetadataImage) -> bool:
            return node_id in image.brokers and not image.brokers[node_id].fenced

        self.wait_until(f"broker {node_id} is unfenced", is_unfenced, timeout_s)


def shown(image: MetadataImage) -> str:
    """The brokers and partitions of an image as text, for an error message."""
    fenced = sorted(broker_id for broker_id, broker in image.brokers.items() if broker.fenced)
    partitions = [
        f"{topic.name}-{index}: leader {partition.leader}, replicas {list(partition.replicas)}, "
        f"ISR {list(partition.isr)}"
        for topic in image.topics_by_name.values()
        for index, partition in topic.partitions.items()
    ]
    return f"brokers {sorted(image.brokers)} (fenced: {fenced}); {'; '.join(partitions[:50])}"
