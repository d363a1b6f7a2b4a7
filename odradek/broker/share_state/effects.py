"""The effects of the share coordinator's decisions, the events of its timers, and their keys. Pure."""

from typing import NamedTuple

from odradek.protocol.internal_records.share_state_records import ShareStateRecord

from ..coordinator.effects import Effects, TimerKey


class ShareStateEffects(Effects[ShareStateRecord]):
    """The effects of one event. ``delete_below``: an offset of the partition's own log. The records below it are
    deleted once all records before this event are as durable as configured."""

    __slots__ = ("delete_below",)

    def __init__(self, now_ms: int) -> None:
        super().__init__(now_ms)
        self.delete_below: int | None = None


class PruneDue(NamedTuple):
    """The deletion of records that no state needs is due (``share.coordinator.state.topic.prune.interval.ms``)."""


class ColdSnapshotsDue(NamedTuple):
    """The search for states with an old snapshot is due
    (``share.coordinator.cold.partition.snapshot.interval.ms``)."""


PRUNE_KEY: TimerKey = ("prune",)
COLD_SNAPSHOTS_KEY: TimerKey = ("cold-snapshots",)
