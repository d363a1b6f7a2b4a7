"""Bugs that are injected into the broker: a simulation that does not find them proves nothing.

Owns: the list of bugs. Each replaces one function of the broker in this process permanently.
"""

from collections.abc import Callable
from typing import Any

from cluster.simulator.determinism import replace
from odradek.broker.replicas.isr import InSyncReplicas
from odradek.broker.replicas.leading import Leading
from odradek.broker.replicas.replication.follower import NO_EPOCH, AppendToCopy, FollowedPartition
from odradek.storage.log.log import Log
from odradek.storage.log.log_offsets import LogOffsets


def skip_truncation() -> None:
    """A follower ignores a diverging epoch."""
    inner = FollowedPartition.process_partition_data

    def process(self: FollowedPartition, data: Any, *others: Any) -> Any:
        if not data.error_code and data.diverging_epoch.epoch >= 0:
            return AppendToCopy(b"", NO_EPOCH, NO_EPOCH)
        return inner(self, data, *others)

    replace(FollowedPartition, "process_partition_data", process)


def high_watermark_too_early() -> None:
    """The leader waits for the fastest member of the ISR instead of the slowest."""

    def advance(self: InSyncReplicas, end_offset: int, _: int) -> None:
        ends = [one.end_offset for replica, one in self.followers.items() if replica in self.isr]
        if not self.is_under_min_isr:
            self.high_watermark = max(self.high_watermark, min(end_offset, max(ends, default=end_offset)))

    replace(InSyncReplicas, "_advance", advance)


def forgotten_proposal() -> None:
    """The leader treats old metadata as new, and forgets the ISR that it has requested."""
    inner = InSyncReplicas.lead

    def lead(self: InSyncReplicas, image: Any, *others: Any) -> None:
        self.partition_epoch = NO_EPOCH
        inner(self, image, *others)

    replace(InSyncReplicas, "lead", lead)


def acknowledged_too_early() -> None:
    """acks=all is answered when the leader has the batch."""

    def when_replicated(self: Leading, _: int, callback: Any) -> None:
        callback(None)

    replace(Leading, "when_replicated", when_replicated)


def shown_aborted() -> None:
    """Readers of committed records do not get the aborted transactions."""

    def aborted_in_read(*_: Any) -> list[Any]:
        return []

    replace(Log, "aborted_in_read", aborted_in_read)


def epochs_forgotten() -> None:
    """The leader of a new epoch does not store its start offset, so followers find no divergence."""

    def epoch_end_offset(self: Log, epoch: int) -> tuple[int, int]:
        return epoch, self.log_end_offset

    replace(LogOffsets, "epoch_end_offset", epoch_end_offset)


BUGS: dict[str, Callable[[], None]] = {
    "skip-truncation": skip_truncation,
    "high-watermark-too-early": high_watermark_too_early,
    "forgotten-proposal": forgotten_proposal,
    "acknowledged-too-early": acknowledged_too_early,
    "shown-aborted": shown_aborted,
    "epochs-forgotten": epochs_forgotten,
}
