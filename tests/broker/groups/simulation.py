"""What the seeded simulations of both kinds of groups share: the run, the disk that fails, the crash of the broker."""

import os
import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from odradek.protocol.errors import ErrorCode
from odradek.protocol.records.batch import iterate_headers
from support.groups.harness import Harness, hard_state


class Simulation(ABC):
    """One world of one seed."""

    harness: Harness

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.events = 0
        self._durable_batches = 0
        self._past: list[tuple[str, str, int]] = []
        """Group, member id and generation or epoch of some former members."""

    def run(self, steps: int) -> None:
        """Random steps, then a calm end."""
        for _ in range(steps):
            self.step()
        self.calm_down()

    def step(self) -> None:
        """One random event, and the checks."""
        self.events += 1
        self._take_event(self.random.random())
        self._check_books()

    def calm_down(self) -> None:
        """Nothing fails any more, and everything comes to rest."""
        self.harness.log.release()
        self.harness.log.fail_next = None
        self._come_to_rest()
        self._check_offsets()

    @abstractmethod
    def _take_event(self, choice: float) -> None:
        """The event that ``choice`` stands for, a number from 0 to 1."""

    @abstractmethod
    def _come_to_rest(self) -> None:
        """Lets time pass and every living member work, then checks where all of them are."""

    @abstractmethod
    def _check_books(self) -> None:
        """Checks the coordinator's state."""

    @abstractmethod
    def _check_offsets(self) -> None:
        """Checks what is committed, when nothing is under way."""

    @abstractmethod
    def _settle_uncertain(self) -> None:
        """Takes what is stored after a crash as committed: an unanswered commit may be there or not."""

    def _remember(self, group_id: str, member_id: str, generation: int) -> None:
        self._past = [*self._past[-20:], (group_id, member_id, generation)]

    def _disk(self) -> None:
        """The next append fails, or appends are not durable until later."""
        log = self.harness.log
        if log.held:
            log.release()
        elif self.random.random() < 0.5:
            log.fail_next = self.random.choice((ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.KAFKA_STORAGE_ERROR))
        else:
            log.held = True
            self._durable_batches = len(log.batches)

    def _restart(self, clean: Callable[[], None]) -> None:
        """The broker crashes and restarts: records that were not durable may be there or not.

        ``clean`` cleans the log as the log cleaner does.
        """
        harness, log = self.harness, self.harness.log
        before = hard_state(harness.core)
        everything_kept = True
        if log.held:
            kept = self.random.randint(self._durable_batches, len(log.batches))
            everything_kept = kept == len(log.batches)
            del log.batches[kept:]
            log.next_offset = 0
            if log.batches:
                [(_, header)] = iterate_headers(log.batches[-1])
                log.next_offset = header.next_offset
        log.drop_waiting()
        log.fail_next = None
        clean()
        harness.start()
        if everything_kept:
            assert hard_state(harness.core) == before, "a restart has changed what was stored"


@dataclass(frozen=True)
class SeededRuns:
    """The runs of one simulation. A run that fails prints the line that replays it."""

    world: Callable[[int], Simulation]
    variables: str
    """With ``_SEED`` and ``_STEPS``: the environment variables of the run that a line replays."""
    steps: int
    file: str
    """The test file whose ``test_given_seed`` replays a run."""

    def run(self, seed: int, steps: int | None = None) -> None:
        """One run. ``steps``: None takes the usual number."""
        steps = self.steps if steps is None else steps
        world = self.world(seed)
        try:
            world.run(steps)
        except BaseException:
            variables = f"{self.variables}_SEED={seed} {self.variables}_STEPS={steps}"
            print(f"\nreplay: {variables} python -m pytest {self.file} -k given_seed  # event {world.events}")
            raise
        assert world.events == steps

    def run_given(self) -> None:
        """The seed and the number of steps that the environment names; without them, fixed ones."""
        steps = os.environ.get(f"{self.variables}_STEPS")
        seed = os.environ.get(f"{self.variables}_SEED", "4711")
        self.run(int(seed), None if steps is None else int(steps))
