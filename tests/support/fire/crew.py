"""The workers under fire: starts, replaces and pauses them, takes over their ids, and waits for their progress."""

import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

from support.eventually import eventually
from support.fire.history import ASKER, GROUP_READER, TELLER, TRANSACTIONAL
from support.fire.requests import Verdict
from support.fire.worker import GIVEN_UP, SESSION_TIMEOUT_MS, Specification
from support.fire.worker_process import PYTHON_WORKER, FireWorker

PATIENCE_S = 300.0
CLIENT_PATIENCE_S = 120.0
"""When a worker is replaced that makes no progress although all its requests were answered: a defect of its client."""
REPLACED_MAX = 3
"""How many such workers one fire bears."""
FAULTS_OF_WORKERS = ("kill-worker", "pause-worker", "take-over", "take-over-from-paused")
MAY_BE_KILLED = (TRANSACTIONAL, TELLER, GROUP_READER)
MAY_BE_TAKEN_OVER = (TRANSACTIONAL, TELLER)


class FireCrew:
    """The running workers, the ended ones, and the faults of workers."""

    def __init__(
        self,
        servers: str,
        directory: Path,
        chance: Random,
        commands: dict[str, list[str]],
        verdict: Callable[[str], Verdict] = lambda client_id: Verdict(),
    ) -> None:
        """``servers``: the brokers' addresses. ``commands``: role -> the command of its program, if that is not the
        worker in Python with librdkafka. ``verdict`` says what is known of the requests of a client id."""
        self._verdict = verdict
        self.done: list[str] = []
        """The faults so far, including those that others noted."""
        self.replaced: list[str] = []
        """The names of the workers that were replaced because their clients were stuck."""
        self.workers: list[FireWorker] = []
        self._servers = servers
        self._directory = directory
        self._chance = chance
        self._commands = commands
        self._left: list[FireWorker] = []
        self._clocks_were_wrong_until_ns = 0

    def note(self, fault: str) -> None:
        """Notes a fault that begins now."""
        self.done.append(fault)
        self.mark(fault)

    def mark(self, what: str) -> None:
        """Writes a line with the time of day, as in the brokers' logs."""
        with (self._directory / "faults.log").open("a") as file:
            file.write(f"{time.strftime('%H:%M:%S')} {what}\n")

    def clocks_are_right_again(self) -> None:
        """Notes that wrong clocks are over. While its clock was ahead, a coordinator aborted transactions too early."""
        self._clocks_were_wrong_until_ns = time.monotonic_ns()

    @property
    def journals(self) -> list[Path]:
        """The journals of all workers that ever ran."""
        return [worker.journal for worker in (*self._left, *self.workers)]

    def start(self, kind: str, name: str) -> FireWorker:
        """Starts one more worker."""
        number = len(self.workers) + len(self._left) + 1
        journal = self._directory / f"{number:03d}-{name}.journal"
        command = self._commands.get(name, PYTHON_WORKER)
        worker = FireWorker(self._servers, journal, Specification(kind, name, number), command)
        self.workers.append(worker)
        return worker

    def given_up(self) -> Counter[str]:
        """How often a worker gave up a step that did not return, by step and the known defect of its client."""
        lines = (line for journal in self.journals for line in journal.read_text().splitlines() if GIVEN_UP in line)
        return Counter(str(json.loads(line)[2]) for line in lines)

    def wait_for_all(self) -> None:
        """Waits until every worker has made progress. Raises AssertionError if one does not."""
        for worker in list(self.workers):
            if worker.specification.kind != ASKER:  # the tellers wait for it
                self._wait_for(worker)

    def _wait_for(self, worker: FireWorker) -> None:
        start = worker.journal.stat().st_size
        is_stuck_at_s = time.monotonic() + CLIENT_PATIENCE_S

        def has_got_on() -> bool:
            nonlocal worker, start
            if worker.has_got_on(start):
                return True
            if time.monotonic() > is_stuck_at_s and self._is_stuck(worker):
                worker, start = self._replace_stuck(worker), 0
            assert all(one.is_alive for one in self.workers if one.specification.kind == ASKER), found()
            # This also happens without an injected fault.
            if worker.outlasted_its_transaction(self._clocks_were_wrong_until_ns):
                worker.wait()
                worker, start = self._succeed(worker), 0
            assert worker.is_alive, found()
            return False

        def found() -> str:
            worker.log_threads()
            tail, log = worker.journal.read_text()[-500:], worker.log_file.read_text()[-2000:]
            known = self._verdict(worker.specification.client_id).text
            return f"{worker.specification} goes on after {self.done}:\n{known}\n{tail}\n{log}"

        eventually(found, has_got_on, patience_s=PATIENCE_S)

    def _is_stuck(self, worker: FireWorker) -> bool:
        """Whether its client is to blame for a lack of progress, and has not been replaced for it yet."""
        of = worker.specification
        is_new = of.name not in self.replaced and len(self.replaced) < REPLACED_MAX
        return is_new and self._verdict(of.client_id).is_of_client

    def _replace_stuck(self, worker: FireWorker) -> FireWorker:
        """Replaces a worker with a stuck client. The successor shows that the brokers serve what it waited for."""
        of = worker.specification
        worker.log_threads()
        self.replaced.append(of.name)
        self.mark(f"{of} is stuck: {self._verdict(of.client_id).text}")
        worker.kill()
        return self._succeed(worker)

    def strike(self, fault: str) -> None:
        """Injects one random fault of a worker."""
        kinds = MAY_BE_TAKEN_OVER if fault.startswith("take-over") else MAY_BE_KILLED
        victim = self._chance.choice([w for w in self.workers if w.specification.kind in kinds])
        seconds = self._chance.uniform(0.3, 2.0)
        self.note(f"{fault} {victim.specification.name}")
        match fault:
            case "kill-worker":
                self._replace(victim)
            case "pause-worker":
                victim.pause()
                time.sleep(seconds if self._chance.random() < 0.5 else SESSION_TIMEOUT_MS / 1000 + 1)
                self._resume(victim)
            case "take-over":
                self._settle(victim, self._succeed(victim))
            case "take-over-from-paused":
                victim.pause()
                successor = self._succeed(victim)
                self._wait_until_started(successor)
                victim.resume()
                self._settle(victim, successor)
            case _:
                raise ValueError(fault)

    def _resume(self, victim: FireWorker) -> None:
        """Continues a paused worker. If it was fenced, replaces it: the pause may have exceeded its transaction
        timeout.
        """
        start = victim.journal.stat().st_size
        victim.resume()
        eventually(
            f"{victim.specification} goes on after {self.done}",
            lambda: not victim.is_alive or victim.has_got_on(start),
            patience_s=PATIENCE_S,
        )
        if not victim.is_alive:
            victim.wait()
            assert '"fenced"' in victim.journal.read_text(), victim.log_file.read_text()
            self._succeed(victim)

    def _replace(self, victim: FireWorker) -> None:
        victim.kill()
        self._succeed(victim)

    def _succeed(self, victim: FireWorker) -> FireWorker:
        """Starts another worker in the same role with the same transactional id."""
        self.workers.remove(victim)
        self._left.append(victim)
        return self.start(victim.specification.kind, victim.specification.name)

    def _settle(self, victim: FireWorker, successor: FireWorker) -> None:
        """Waits until one of two workers with the same transactional id was fenced: nearly always the older one.

        The older one may have restarted after another error, and have taken the id back.
        """
        eventually(
            f"one of two {successor.specification} is fenced after {self.done}",
            lambda first=victim, second=successor: not (first.is_alive and second.is_alive),  # type: ignore[misc]
            patience_s=PATIENCE_S,
        )
        if victim.is_alive:
            self.workers[self.workers.index(successor)] = victim
            self._left[self._left.index(victim)] = successor
            victim, successor = successor, victim
        victim.wait()

    def _wait_until_started(self, worker: FireWorker) -> None:
        """Waits until it has its transactional id."""

        def has_started() -> bool:
            assert worker.is_alive or '"started"' in worker.journal.read_text(), worker.log_file.read_text()
            return '"started"' in worker.journal.read_text()

        eventually(
            lambda: f"{worker.specification} starts:\n{worker.log_file.read_text()}", has_started, patience_s=PATIENCE_S
        )

    def end(self, kinds: tuple[str, ...]) -> None:
        """Ends the workers of some kinds cleanly."""
        ending = [worker for worker in self.workers if worker.specification.kind in kinds]
        for worker in ending:
            worker.end()
        for worker in ending:
            worker.wait()
            self.workers.remove(worker)
            self._left.append(worker)

    def kill_all(self) -> None:
        """Ends all processes of the test."""
        for worker in (*self.workers, *self._left):
            worker.kill()
