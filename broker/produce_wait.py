"""A Produce request whose batches are appended and not yet as durable as its answer promises.

Owns: how many of its partitions are still waited for. Never does: appending, syncing. Invariant: completes exactly
once, when the last of them is synced or has failed. Source: ``DelayedProduce``, with the disk in place of replicas.
"""

from collections.abc import Callable, Sequence
from functools import partial

from ..protocol.errors import KafkaError
from ..protocol.messages.produce import ProduceResponse
from .partition import Partition

Answer = ProduceResponse.PartitionProduceResponse


class ProduceWait:
    """Waits until each of the partitions is synced as far as its answer needs it."""

    __slots__ = ("_complete", "_missing")

    def __init__(self, unsynced: Sequence[tuple[Partition, int, Answer]], complete: Callable[[], None]) -> None:
        """``unsynced``: each partition, the offset to sync it to, and its answer (an error, should the sync fail)."""
        self._missing = len(unsynced)
        self._complete = complete
        for partition, offset, answer in unsynced:
            partition.group_commit.when_synced(partition.log, offset, partial(self._synced, answer))

    def _synced(self, answer: Answer, failure: KafkaError | None) -> None:
        if failure is not None:
            answer.error_code = failure.error_code
            answer.error_message = str(failure)
            answer.base_offset = answer.log_append_time_ms = answer.log_start_offset = -1
        self._missing -= 1
        if not self._missing:
            self._complete()
