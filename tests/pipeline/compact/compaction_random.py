"""Random histories of one partition, repeatedly cleaned by our cleaner and by Kafka's at the same time.

`python -m pipeline.compact.compaction_random SEED offline` (in tests/) replays a seed and prints where it fails.
"""

import random
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from odradek.protocol.records.compression import CompressionType
from odradek.storage.log.log_config import LogConfig
from support.data.legacy_messages import LEGACY_CODECS
from support.pipeline.compaction_log import COMPACTED, DAY_MS, HOUR_MS, CompactionLog
from support.pipeline.compaction_rounds import (
    MANY_KEYS,
    CleanerOracle,
    CleanOnce,
    RoundOrder,
    are_grouped_otherwise,
    check_equal,
    clean_compiled,
    clean_in_ranges,
    clean_live,
    clean_offline,
    contents,
    kafka_mistakes_an_abort,
)

CLEANERS = {"offline": clean_offline, "ranges": clean_in_ranges, "compiled": clean_compiled, "live": clean_live}
IDEMPOTENT, TRANSACTIONAL = (1, 2, 3), (11, 12, 13)
PERIODS = 4
"""The number of periods of writing before only cleaning continues."""
AT_MOST_ROUNDS = 15
"""After this many daily rounds every partition has reached its final state."""
NEAR_WRAP = 0x7FFFFFF0


def random_config(rng: random.Random) -> LogConfig:
    """A topic's configuration."""
    return replace(
        COMPACTED,
        segment_bytes=rng.choice((6000, 20_000, 1 << 20)),
        index_interval_bytes=rng.choice((1, 200, 4096)),
        delete_retention_ms=rng.choice((0, HOUR_MS, DAY_MS)),
        min_compaction_lag_ms=rng.choice((0, 0, HOUR_MS)),
        producer_id_expiration_ms=rng.choice((HOUR_MS, DAY_MS, 20 * DAY_MS)),
    )


class RandomHistory:
    """Writes everything that a partition of a compacted topic may have."""

    def __init__(self, rng: random.Random, log: CompactionLog) -> None:
        self.rng = rng
        self.log = log
        self.keys = rng.choice((3, 20, 200))
        self.codecs = tuple(CompressionType) if rng.random() < 1 / 3 else (CompressionType.NONE,)
        self.append_time = rng.choice((0.0, 0.3, 1.0))
        self.gaps = rng.choice((0.0, 0.1))
        self.legacy = random.Random(rng.random()).choice((0.0, 0.0, 0.3, 0.9))
        """The share of batches without a producer that are messages of format 0 or 1."""
        self.epochs = dict.fromkeys((*IDEMPOTENT, *TRANSACTIONAL), 0)
        self.open: set[int] = set()
        self.hang = rng.random() < 0.2
        """Whether transactions may stay open at the end of a period."""

    def write(self, steps: int) -> None:
        """Appends batches and markers, rolls segments, and advances the clock."""
        for _ in range(steps):
            self._step()
        if not self.hang:
            for producer_id in sorted(self.open):
                self._end(producer_id)
        self._roll()

    def _roll(self, at: int | None = None) -> None:
        """Kafka's cleaner fails if the last batch of a round is an old message of which nothing stays."""
        if self.legacy and at is None:
            self._append(-1)
        self.log.roll(at)

    def _step(self) -> None:
        rng, log = self.rng, self.log
        log.now_ms += rng.choice((0, 1, rng.randrange(2000), rng.randrange(2000), HOUR_MS // 7))
        kind = rng.random()
        if kind < 0.06 and log.end > 0:
            self._roll(log.end + rng.randrange(20) if rng.random() < self.gaps else None)
        elif kind < 0.08:
            log.leader_epoch += 1
        elif kind < 0.10:
            producer_id = rng.choice(IDEMPOTENT)
            log.empty_batch(producer_id, epoch=self.epochs[producer_id], offsets=rng.choice((1, 4)))
        elif kind < 0.12:
            self.epochs[rng.choice(IDEMPOTENT)] += 1
        elif kind < 0.45:
            if rng.random() < self.legacy:
                self._append_legacy()
            else:
                self._append(-1)
        elif kind < 0.6:
            self._append(rng.choice(IDEMPOTENT))
        elif kind < 0.83:
            producer_id = rng.choice(TRANSACTIONAL)
            self.open.add(producer_id)
            self._append(producer_id)
        else:
            # Of an open transaction, or of one without data in this partition.
            self._end(rng.choice(sorted(self.open) if self.open and rng.random() < 0.8 else TRANSACTIONAL))

    def _records(self) -> list[tuple[bytes | None, bytes | None]]:
        rng = self.rng
        records: list[tuple[bytes | None, bytes | None]] = []
        for _ in range(rng.choice((1, 1, 3, 12))):
            key = None if rng.random() < 0.04 else b"key-%d" % rng.randrange(self.keys)
            value = None if rng.random() < 0.2 else rng.randbytes(rng.choice((0, 5, 5, 400)))
            records.append((key, value))
        return records

    def _append_legacy(self) -> None:
        rng, log = self.rng, self.log
        records = self._records()
        log.append_legacy(
            rng.randrange(2),
            records,
            codec=rng.choice(LEGACY_CODECS) if len(self.codecs) > 1 else CompressionType.NONE,
            times=[log.now_ms + rng.randrange(-5, 5) for _ in records],
            has_append_time=rng.random() < self.append_time,
        )

    def _append(self, producer_id: int) -> None:
        rng, log = self.rng, self.log
        records = self._records()
        log.append(
            records,
            producer_id,
            self.epochs.get(producer_id, -1),
            NEAR_WRAP if producer_id >= 0 and rng.random() < 0.05 else None,
            is_transactional=producer_id in TRANSACTIONAL,
            codec=rng.choice(self.codecs),
            at=log.end + rng.randrange(30) if rng.random() < self.gaps else None,
            times=[log.now_ms + rng.randrange(-5, 5) for _ in records],
            has_append_time=rng.random() < self.append_time,
            headers=[("h", rng.choice((None, b"x")))] if rng.random() < 0.2 else (),
        )

    def _end(self, producer_id: int) -> None:
        if self.rng.random() < 0.2:
            self.epochs[producer_id] += 1  # as the coordinator does since KIP-890, and when it fences
        end = self.log.abort if self.rng.random() < 0.5 else self.log.commit
        end(producer_id, self.epochs[producer_id])
        self.open.discard(producer_id)


class Comparison:
    """One seed: periods of writing and cleaning, then days with rounds until one changes nothing."""

    def __init__(self, seed: int, directory: Path, clean: CleanOnce, oracle: CleanerOracle) -> None:
        self.seed = seed
        self.rng = random.Random(seed)
        self.ours, self.kafkas = directory / "ours" / "t-0", directory / "kafkas" / "t-0"
        self.clean = clean
        self.oracle = oracle
        self.rounds = 0
        self.cleaned_up_to: int | None = None
        self.log = CompactionLog(self.ours, random_config(self.rng))
        self.config = replace(self.log.config, segment_bytes=self.rng.choice((300, 2000, 20_000, 1 << 20)))
        """segment.bytes during the cleaning: the topic's config was changed."""

    def run(self) -> int:
        """Runs the comparison; returns the number of rounds. Raises AssertionError with the line that replays it."""
        try:
            self._run()
        except AssertionError as error:
            [name] = [name for name, clean in CLEANERS.items() if clean is self.clean]
            error.add_note(f"replay, in tests/: python -m pipeline.compact.compaction_random {self.seed} {name}")
            raise
        return self.rounds

    def _run(self) -> None:
        rng = self.rng
        history = RandomHistory(rng, self.log)
        for _ in range(rng.randrange(1, PERIODS)):
            history.write(rng.choice((10, 40, 150)))
            self.log.close()
            shutil.rmtree(self.kafkas, ignore_errors=True)
            shutil.copytree(self.ours, self.kafkas)
            for _ in range(rng.randrange(1, 4)):
                self.log.now_ms += rng.choice((0, 1000, HOUR_MS + 1, DAY_MS + 1))
                self._round(
                    rng.choice((self.cleaned_up_to, self.cleaned_up_to, None)), rng.choice((MANY_KEYS, MANY_KEYS, 5))
                )
        for _ in range(AT_MOST_ROUNDS):
            before = contents(self.ours)
            self.log.now_ms += DAY_MS + 1
            self._round(None, MANY_KEYS)
            if contents(self.ours) == before:
                return
        raise AssertionError("it does not come to rest")

    def _round(self, cleaned_up_to: int | None, max_keys: int) -> None:
        self.rounds += 1
        if cleaned_up_to is not None and kafka_mistakes_an_abort(self.ours, cleaned_up_to):
            cleaned_up_to = None
        order = RoundOrder(self.log.now_ms, cleaned_up_to, max_keys, self.rng.choice((64, 1000, 1 << 18)))
        what = f"seed {self.seed}, round {self.rounds} ({order})"
        expected = self.oracle.clean(self.kafkas, self.config, order)
        self.cleaned_up_to = self.clean(self.ours, self.config, order)
        assert self.cleaned_up_to == expected, f"{what}: cleaned up to {self.cleaned_up_to}, Kafka's up to {expected}"
        if are_grouped_otherwise(self.ours, self.kafkas):
            shutil.rmtree(self.ours)
            shutil.copytree(self.kafkas, self.ours)  # so that the next rounds have the same files before them
        check_equal(self.ours, self.kafkas, what)


def compare(seed: int, clean: CleanOnce, oracle: CleanerOracle, directory: Path) -> int:
    """Compares one random history, and empties `directory` afterwards. Returns the number of rounds."""
    rounds = Comparison(seed, directory, clean, oracle).run()
    shutil.rmtree(directory)
    return rounds


_oracles: list[CleanerOracle] = []
"""The oracle of this process, if it is in a pool."""


def start_oracle() -> None:
    """Starts a process of a pool. Its JVM ends with the process, because its input is closed."""
    _oracles.append(CleanerOracle().__enter__())


def compare_in_pool(seed: int, name: str, directory: Path) -> int:
    """:func:`compare` with the cleaner of that name, in a process that :func:`start_oracle` began."""
    return compare(seed, CLEANERS[name], _oracles[0], directory)


if __name__ == "__main__":
    with CleanerOracle() as running, tempfile.TemporaryDirectory() as scratch:
        print(
            compare(int(sys.argv[1]), CLEANERS[sys.argv[2]], running, Path(scratch) / "partition"), "rounds are equal"
        )
