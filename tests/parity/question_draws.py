"""The parts of random requests: topics, partitions, groups, epochs and records, drawn from one seed."""

import random
from collections.abc import Callable

from odradek.protocol.messages.structure import Message
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.record import Record
from parity.world import Names

TOPICS = ("apples", "pears", "plums", "figs")
GROUPS = ("readers", "writers", "idle")
BASE_TIME_MS = 1_700_000_000_000

Make = Callable[[Names], Message]
Question = tuple[int, Make]
"""A version, and a function that makes the request for one broker."""


class Draws:
    """Draws parts of requests. The same seed draws the same parts."""

    def __init__(self, seed: int, versions: Callable[[type[Message]], tuple[int, int]]) -> None:
        """``versions``: the lowest and highest version of a request that both brokers serve."""
        self.rng = random.Random(seed)
        self._versions = versions

    def version(self, request: type[Message]) -> int:
        """A version of the request. The newest version is drawn more often than the others."""
        lowest, highest = self._versions(request)
        return highest if self.rng.random() < 0.3 else self.rng.randint(lowest, highest)

    def topic(self) -> str:
        """A topic that may exist."""
        return self.rng.choice(TOPICS) if self.rng.random() < 0.93 else "nowhere"

    def partition(self) -> int:
        """A partition that may exist."""
        return self.rng.choice((0, 0, 0, 1, 1, 2, 7, -1))

    def group(self) -> str:
        """A group that may exist."""
        return self.rng.choice(GROUPS) if self.rng.random() < 0.9 else self.rng.choice(("", "unknown"))

    def epoch(self) -> int:
        """A leader epoch: mostly unset, sometimes correct, sometimes wrong."""
        return self.rng.choice((-1, -1, -1, 0, 0, 1))

    def records(self) -> bytes:
        """One batch or an invalid one, but never null: Kafka 4.3 does not answer null records."""
        rng = self.rng
        kind = rng.random()
        if kind < 0.03:
            return b""
        count = rng.choice((1, 1, 2, 5, 40))
        begin = BASE_TIME_MS + rng.randrange(1000)
        records = [
            Record(i, begin + rng.randrange(50), b"k%d" % i, rng.randbytes(rng.randrange(60)), []) for i in range(count)
        ]
        data = encode_batch(
            records, compression=rng.choice((CompressionType.NONE, CompressionType.GZIP, CompressionType.LZ4))
        )
        if kind < 0.10:
            damaged = bytearray(data)
            damaged[rng.choice((16, 17, 21, 60, len(data) - 1))] ^= 1 << rng.randrange(7)
            return bytes(damaged)
        if kind < 0.12:
            return data + data
        return data
