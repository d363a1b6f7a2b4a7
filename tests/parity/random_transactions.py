"""Random histories of a transactional id that two producers share, on Odradek and a real Kafka step by step."""

import random
from collections.abc import Iterator
from typing import Any

from parity.side import Side
from parity.transactional import Transactional
from parity.two_brokers import TwoBrokers
from parity.world import comparable

Step = tuple[str, dict[str, Any]]


def random_steps(seed: int) -> Iterator[Step]:
    """An endless sequence of steps of two producers, in the old transaction protocol or the new one."""
    rng = random.Random(seed)
    speaks = {"a": rng.choice((1, 2)), "b": rng.choice((1, 2))}
    yield "init", {"who": "a"}
    while True:
        who = rng.choice("aaab")
        new = speaks[who] == 2
        produce = "produce", {"who": who, "index": rng.randrange(2), "version": 12 if new else rng.choice((10, 11))}
        end = "end", {"who": who, "commit": rng.random() < 0.6, "version": 5 if new else rng.choice((1, 3))}
        commit = "commit", {"who": who, "offset": rng.randrange(9), "version": 5 if new else rng.choice((2, 3, 4))}
        add, offsets = (name_and_version(rng, name, who) for name in ("add", "offsets"))
        init = "init", {"who": who, "known": rng.random() < 0.5, "version": rng.choice((3, 4))}
        yield rng.choice((produce, produce, add, offsets, commit, end, end, init))


def name_and_version(rng: random.Random, name: str, who: str) -> Step:
    """A step of the old protocol only."""
    return name, {"who": who, "version": rng.choice((1, 3))}


class RandomTransactions:
    """The random history of one transactional id on both brokers."""

    def __init__(self, both: TwoBrokers, name: str, seed: int) -> None:
        """``name``: the transactional id."""
        ports = ((both.ours.port, True), (both.kafka.port, False))
        self.sides = [Transactional(Side(both.wire, port, is_ours), name) for port, is_ours in ports]
        self._steps = random_steps(seed)
        self._said: list[str] = []

    def step(self) -> None:
        """Sends one request, or nothing if the chosen producer has no id yet."""
        name, arguments = next(self._steps)
        who = arguments.pop("who")
        if self.sides[0].who(who).producer_id < 0 and name != "init":
            return
        index = arguments.pop("index", None)
        if name == "produce" and self._is_sent(who, index):
            return  # Kafka's answer to the next batch depends on whether it verified this one (docs/differences.md)
        positional = (who,) if index is None else (who, index)
        self._said.append(f"{name} {positional} {arguments}")
        self._compare([getattr(side, name)(*positional, **arguments) for side in self.sides])

    def _is_sent(self, who: str, index: int) -> bool:
        """Returns True if the other producer, with the same id and epoch, has already used this one's next sequence."""
        one = self.sides[0].who(who)
        return any(
            (other.producer_id, other.producer_epoch) == (one.producer_id, one.producer_epoch)
            and other.sequences.get(index, 0) > one.sequences.get(index, 0)
            for other in self.sides[0].producers.values()
        )

    def end(self) -> int:
        """Compares the final state that readers see. Returns the number of requests."""
        self._compare([side.seen() for side in self.sides])
        return len(self._said)

    def _compare(self, answers: list[Any]) -> None:
        ours, kafka = (comparable(answer) for answer in answers)
        assert ours == kafka, "\n".join([*self._said, f"ours:  {ours}", f"Kafka: {kafka}"])
