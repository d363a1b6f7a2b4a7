"""The state of one share partition, as the share coordinator holds it.

Pure. Owns: the fields, and how a record changes them. Source: ``ShareGroupOffset``, ``ShareCoordinatorShard.merge``.
"""

from .share_batches import StateBatch, merge
from .share_state_records import Snapshot, Update

NO_EPOCH = -1


class ShareState:
    """The state, with what the fences and the next snapshot need.

    ``highest_leader_epoch`` and ``highest_state_epoch`` never fall, unlike the epochs of the last snapshot.
    ``updates_count``: updates since a snapshot that was due to their number. ``has_snapshot``: False if the log held
    updates only. ``unreadable``: why the stored state can't be used; None if it can.
    """

    __slots__ = (
        "batches",
        "created_ms",
        "delivery_complete_count",
        "has_snapshot",
        "highest_leader_epoch",
        "highest_state_epoch",
        "leader_epoch",
        "snapshot_epoch",
        "start_offset",
        "state_epoch",
        "unreadable",
        "updates_count",
        "written_ms",
    )

    def __init__(self) -> None:
        self.snapshot_epoch = 0
        self.state_epoch = 0
        self.leader_epoch = 0
        self.start_offset = -1
        self.delivery_complete_count = -1
        self.created_ms = 0
        self.written_ms = 0
        self.batches: list[StateBatch] = []
        self.highest_leader_epoch = NO_EPOCH
        self.highest_state_epoch = NO_EPOCH
        self.updates_count = 0
        self.has_snapshot = False
        self.unreadable: str | None = None

    @property
    def is_warm(self) -> bool:
        """Whether the state was written since its last cold snapshot; False if it can't be read."""
        return self.created_ms == self.written_ms and self.unreadable is None

    def take(self, snapshot: Snapshot, updates_a_snapshot: int) -> None:
        """Replaces the state. ``updates_a_snapshot``: the number of updates after which a snapshot is due."""
        self.snapshot_epoch = snapshot.snapshot_epoch
        self.state_epoch = snapshot.state_epoch
        self.leader_epoch = snapshot.leader_epoch
        self.start_offset = snapshot.start_offset
        self.delivery_complete_count = snapshot.delivery_complete_count
        self.created_ms = snapshot.created_ms
        self.written_ms = snapshot.written_ms
        self.batches = list(snapshot.batches)
        self.highest_leader_epoch = max(self.highest_leader_epoch, snapshot.leader_epoch)
        self.highest_state_epoch = max(self.highest_state_epoch, snapshot.state_epoch)
        if self.updates_count >= updates_a_snapshot:
            self.updates_count = 0
        self.has_snapshot = True
        self.unreadable = None

    def change(self, update: Update) -> None:
        """Applies an update. Without a snapshot before it, the update is all that is known."""
        is_first = not self.has_snapshot and not self.updates_count
        self.highest_leader_epoch = max(self.highest_leader_epoch, update.leader_epoch)
        if is_first:
            self.snapshot_epoch = update.snapshot_epoch
        if update.start_offset != -1 or is_first:
            self.start_offset = update.start_offset
        if update.leader_epoch != NO_EPOCH or is_first:
            self.leader_epoch = update.leader_epoch
        self.delivery_complete_count = update.delivery_complete_count
        merge(self.batches, update.batches, self.start_offset)
        self.updates_count += 1

    def snapshot(self, written_ms: int) -> Snapshot:
        """The next snapshot, which changes nothing."""
        return Snapshot(
            self.snapshot_epoch + 1,
            self.state_epoch,
            self.leader_epoch,
            self.start_offset,
            self.delivery_complete_count,
            self.created_ms,
            written_ms,
            tuple(self.batches),
        )
