"""A round of the live cleaner in steps. A crash test takes them one by one, with other operations in between.

The steps are those of ``LogCleaner._carry_out`` and ``_clean`` (broker/replicas/cleaner/cleaner.py). The broker syncs
on a thread. A sync is therefore a separate step; records are appended, segments roll and retention runs before and
after it.
"""

from collections.abc import Generator

from odradek.storage.compaction.live_round import LiveRound, range_of, sealed_and_active
from odradek.storage.compaction.order import carry_out
from odradek.storage.compaction.pace import CleaningStoppedError, full_speed
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.files.checkpoints import CLEANER_OFFSET_CHECKPOINT, write_offset_checkpoint
from support.data.cleaned_log import UNLIMITED

Key = tuple[str, int]


class SteppedCleaning:
    """The rounds of one partition."""

    def __init__(self) -> None:
        self._steps: Generator[None, None, None] | None = None
        self.groups = 0
        """The number of groups that were swapped in."""
        self.interrupted = 0
        """The number of rounds that another operation on the log ended."""

    @property
    def is_under_way(self) -> bool:
        """Whether a round has begun and not ended."""
        return self._steps is not None

    def step(self, directory: LogDirectory, key: Key, now_ms: int) -> None:
        """Runs the next step of the current round, or the first of a new one."""
        if self._steps is None:
            self._steps = self._round(directory, key, now_ms)
        if next(self._steps, self) is self:
            self._steps = None

    def forget(self) -> None:
        """Ends the current round as when its task is cancelled, because the broker stops or has died."""
        steps, self._steps = self._steps, None
        if steps is not None:
            steps.close()

    def _round(self, directory: LogDirectory, key: Key, now_ms: int) -> Generator[None, None, None]:
        log = directory.logs[key]
        offsets = range_of(log, sealed_and_active(log), directory.cleaner_offsets.get(key), now_ms)
        round_ = LiveRound(log, offsets, now_ms, UNLIMITED)
        is_done = False
        try:
            outcome = carry_out(round_.order, round_.files, full_speed())
            yield
            for group in outcome.groups:
                round_.stage(group)
                yield
                round_.sync()
                yield
                round_.commit(group, now_ms)
                self.groups += 1
                yield
                round_.sync()
                yield
                round_.rename()
                yield
                round_.sync()
                yield
            is_done = True
        except CleaningStoppedError:
            self.interrupted += 1
        finally:
            round_.close(is_done=is_done)
        if is_done and directory.logs.get(key) is log:
            directory.cleaner_offsets[key] = outcome.result.cleaned_up_to
            write_offset_checkpoint(
                directory.files, directory.path / CLEANER_OFFSET_CHECKPOINT, directory.cleaner_offsets
            )
