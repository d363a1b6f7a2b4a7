"""A whole cleaning round over an open log, which a broker runs in separate steps."""

from odradek.storage.compaction.live_round import LiveRound, range_of, sealed_and_active
from odradek.storage.compaction.order import CleaningOutcome, RoundLimits, carry_out
from odradek.storage.compaction.pace import full_speed
from odradek.storage.log.log import Log

UNLIMITED = RoundLimits(max_map_entries=5_000_000, buffer_bytes=1 << 18, bytes_per_second=float("inf"))


def clean_log(log: Log, *, cleaned_up_to: int | None, now_ms: int, limits: RoundLimits = UNLIMITED) -> CleaningOutcome:
    """Runs one whole round over an open log.

    Pass `outcome.result.cleaned_up_to` to the next round. Raises StorageError and the errors of `carry_out`.
    """
    offsets = range_of(log, sealed_and_active(log), cleaned_up_to, now_ms)
    round_ = LiveRound(log, offsets, now_ms, limits)
    is_done = False
    try:
        outcome = carry_out(round_.order, round_.files, full_speed())
        for group in outcome.groups:
            round_.stage(group)
            round_.sync()
            round_.commit(group, now_ms)
            round_.sync()
            round_.rename()
            round_.sync()
        is_done = True
        return outcome
    finally:
        round_.close(is_done=is_done)
