"""The producers of a log: checks before a write, updates after it, snapshots.

Owns: the producer state and its snapshot files. Never does: deciding when to take a snapshot. Source: Kafka's
UnifiedLog.analyzeAndValidateProducerState.
"""

from pathlib import Path

from odradek.protocol.common.steps import Steps
from odradek.protocol.records.batch import BatchHeader, Buffer

from ..producers.producer_snapshots import ProducerSnapshots
from ..producers.producer_state import BatchMetadata, ProducerStateManager, read_marker
from ..segment.segment import Segment
from .append_plan import AppendOrigin, AppendPlan
from .log_segments import LogSegments
from .producer_replay import apply_to_producers, rebuild_producers


class LogProducers:
    """The producers of one log."""

    __slots__ = ("snapshots", "state")

    def __init__(self, state: ProducerStateManager, snapshots: ProducerSnapshots) -> None:
        self.state = state
        self.snapshots = snapshots

    def check(
        self, plan: AppendPlan, first_offset: int, origin: AppendOrigin, transaction_version: int = 0
    ) -> BatchMetadata | None:
        """The earlier batch that this one repeats; None for a new one. Raises KafkaError for a wrong epoch or
        sequence. ``transaction_version``: for a transaction marker, see `ProducerStateManager.check_marker`.
        """
        header = plan.header
        if not header.is_control:
            return self.state.check(header, first_offset, from_client=origin is AppendOrigin.CLIENT)
        marker = read_marker(plan.batch, header)
        if marker is not None:
            self.state.check_marker(header, marker[0], first_offset, transaction_version)
        return None

    def apply_append(self, segment: Segment, header: BatchHeader, first_offset: int, batch: Buffer) -> None:
        """Updates the state for a batch that was appended to `segment` at `first_offset`."""
        if header.is_control:
            apply_to_producers(self.state, segment, header._replace(base_offset=first_offset), batch)
        else:
            self.state.apply(header, first_offset)

    def take_snapshot(self) -> Path | None:
        """Writes a snapshot, without a sync, if the state has changed. Returns its path or None. Raises OSError."""
        return self.snapshots.take(self.state)

    def rebuild(self, segments: LogSegments, start: int, end: int, now_ms: int, expiration_ms: int) -> Steps[None]:
        """Steps that rebuild the state as of `end` from the newest snapshot in range and the log. Raises OSError.

        The present state stays unchanged until the last step replaces it.
        """
        fresh = ProducerStateManager()
        yield from rebuild_producers(
            fresh, self.snapshots, segments, start, end, now_ms, expiration_ms, clean_shutdown=False
        )
        self.state.take_over(fresh)

    def remove_snapshots(self) -> None:
        """Removes every snapshot. Raises OSError."""
        for offset in self.snapshots.offsets:
            self.snapshots.remove(offset)

    def forget_snapshot(self, offset: int) -> list[Path]:
        """Forgets the snapshot at a removed segment's base offset. Returns its file, which the caller removes."""
        return [self.snapshots.path(offset)] if self.snapshots.forget(offset) else []
