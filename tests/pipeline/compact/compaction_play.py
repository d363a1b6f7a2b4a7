"""Plays a scenario: runs every round with our cleaner and with Kafka's on a copy, and compares the files."""

import shutil
from pathlib import Path

from support.pipeline.compaction_log import CompactionLog, read_batches
from support.pipeline.compaction_rounds import CleanerOracle, CleanOnce, RoundOrder, check_equal

from .compaction_scenarios import Scenario


def play(scenario: Scenario, directory: Path, clean: CleanOnce, oracle: CleanerOracle | None) -> None:
    """Raises AssertionError if the scenario's expectation is not met or the files differ from Kafka's."""
    ours, kafkas = directory / "ours" / "t-0", directory / "kafkas" / "t-0"
    log = CompactionLog(ours)
    cleaned_up_to: int | None = None
    name = getattr(scenario, "__name__", str(scenario))
    rounds = scenario(log)
    order = next(rounds, None)
    number = 0
    while order is not None:
        number += 1
        log.close()
        if oracle is not None:
            shutil.rmtree(kafkas, ignore_errors=True)
            shutil.copytree(ours, kafkas)
        now_ms = log.now_ms + order.after_ms
        if order.is_whole or order.from_offset is not None:
            cleaned_up_to = order.from_offset
        asked = RoundOrder(now_ms, cleaned_up_to, order.max_keys, order.buffer_bytes)
        what = f"{name}, round {number}"
        cleaned_up_to = clean(ours, log.config, asked)
        if oracle is not None:
            expected = oracle.clean(kafkas, log.config, asked)
            assert cleaned_up_to == expected, f"{what}: cleaned up to {cleaned_up_to}, Kafka's up to {expected}"
            check_equal(ours, kafkas, what)
        try:
            order = rounds.send(read_batches(ours))
        except StopIteration:
            return
