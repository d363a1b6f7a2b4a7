"""The cleaner remembers which partitions can't be cleaned, and tries them again at growing intervals."""

from odradek.broker.metrics.cleaner_state import FIRST_RETRY_MS, LAST_RETRY_MS, CleanerState, RoundStats

KEY = ("topic", 0)


def test_a_partition_that_fails_is_tried_again_later_and_later() -> None:
    state = CleanerState()
    now_ms = 1_000
    waits = []
    for attempt in range(1, 10):
        assert state.may_clean(KEY, now_ms)
        refusal = state.failed(KEY, "/logs", f"reason {attempt}", 10, now_ms)
        assert (refusal.attempts, refusal.reason) == (attempt, f"reason {attempt}")
        assert not state.may_clean(KEY, refusal.retry_ms - 1)
        waits.append(refusal.retry_ms - now_ms)
        now_ms = refusal.retry_ms
    assert waits[:3] == [FIRST_RETRY_MS, 2 * FIRST_RETRY_MS, 4 * FIRST_RETRY_MS]
    assert waits[-1] == LAST_RETRY_MS
    assert state.may_clean(("other", 0), 0), "others go on"


def test_a_round_that_ends_well_ends_the_refusal() -> None:
    state = CleanerState()
    state.failed(KEY, "/logs", "damage", 10, 0)
    state.cleaned(KEY, RoundStats(100, 40, 7, 0.5))
    assert not state.uncleanable
    assert (state.rounds, state.bytes_read, state.bytes_written) == (1, 100, 40)
    assert state.failed(KEY, "/logs", "damage", 10, 0).attempts == 1


def test_a_partition_in_progress_is_left_alone() -> None:
    state = CleanerState()
    state.in_progress.add(KEY)
    assert not state.may_clean(KEY, 0)


def test_what_has_gone_is_forgotten() -> None:
    state = CleanerState()
    state.failed(KEY, "/logs", "damage", 10, 0)
    state.failed(("other", 1), "/logs", "damage", 10, 0)
    state.forget_missing({KEY})
    assert list(state.uncleanable) == [KEY]
