"""One life of a cluster: first under faults, then without, and then the checks."""

import asyncio
import logging
import random
import sys
from collections.abc import Collection
from functools import partial
from typing import NamedTuple

from cluster.simulator import processes
from cluster.simulator.bugs import BUGS
from cluster.simulator.checks import Checks
from cluster.simulator.determinism import clock
from cluster.simulator.faults import KINDS, Faults
from cluster.simulator.final_logs import final_logs
from cluster.simulator.history import History, ViolationError
from cluster.simulator.loop import SimulatedLoop, pass_time
from cluster.simulator.network import Network
from cluster.simulator.nodes import LAG_MAX_MS, BrokerNode, ClientNode, ControllerNode, replace_edges
from cluster.simulator.processes import Process
from cluster.simulator.workload import TOPICS, Workload

STEPS_A_LOOK = 10
HEAL_S = LAG_MAX_MS / 1000 + 15
INTERNAL = ("__consumer_offsets", "__transaction_state")


class Result(NamedTuple):
    """The result of a life."""

    seed: int
    steps: int
    trace: str
    violation: str
    virtual_s: float
    acknowledged: int
    transactions: int
    commits: int
    elections: int
    faults: int
    handed_over: int
    errors: dict[str, int]


def live(seed: int, steps: int, bug: str = "", kinds: Collection[str] = KINDS, *, logs: bool = False) -> Result:
    """Runs one life with these ``kinds`` of faults. A violation is a part of the result."""
    loop = SimulatedLoop(random.Random(f"{seed} threads"))
    _watch_logs(loop.errors, to_stderr=logs)
    asyncio.set_event_loop(loop)
    if bug:
        BUGS[bug]()
    world = Process("world")
    life = world.context.run(Life, loop, seed, steps, kinds)
    task = world.context.run(loop.create_task, life.run())
    violation = ""
    try:
        world.context.run(loop.run_until_complete, task)
    except ViolationError as error:
        violation = str(error)
    history, checks = life.history, life.checks
    return Result(
        seed,
        loop.steps,
        f"{loop.trace:08x}",
        violation,
        round(clock.now_s, 3),
        len(history.acknowledged),
        sum(bool(one.outcome) for one in history.transactions.values()),
        history.commits,
        checks.elections,
        life.faults.count,
        life.faults.disks.handed_over,
        history.errors,
    )


class Life:
    """The parts of one life."""

    def __init__(self, loop: SimulatedLoop, seed: int, steps: int, kinds: Collection[str]) -> None:
        self.loop = loop
        self._steps = steps
        self._network = Network(loop, random.Random(f"{seed} network"))
        replace_edges(self._network)
        chance = random.Random(f"{seed} faults")
        self._controller = ControllerNode(self._network, chance)
        self._brokers = [BrokerNode(self._network, node_id, chance) for node_id in (1, 2, 3)]
        self.history = History()
        self._workload = Workload(self.history, random.Random(f"{seed} workload"))
        self.checks = Checks(self._controller, self._brokers, (*TOPICS, *INTERNAL), self.history)
        self._clients = [
            ClientNode(self._network, name, chance, partial(self._workload.run, name, once))
            for name, once in self._workload.clients().items()
        ]
        self.faults = Faults(self._network, self._controller, self._brokers, self._clients, chance, kinds)

    async def run(self) -> None:
        """Runs the life. Raises ViolationError."""
        await self._controller.start()
        for broker in self._brokers:
            broker.start()
        await self._until_serving()
        await self._workload.create_topics()
        for client in self._clients:
            client.start()
        self.loop.after_step = self._after_step
        while self.loop.steps < self._steps:
            await self.faults.one()
            self._raise_errors()
        await self.faults.heal_all()
        await self._until_healed()
        self._workload.is_over = True
        await asyncio.wait([client.task for client in self._clients])
        self._raise_errors()
        await pass_time(12)  # open transactions are aborted after transaction.timeout.ms
        await self._until_healed()
        self.history.check_logs(final_logs(self._controller, self._brokers, TOPICS))

    def _after_step(self) -> None:
        if self.loop.steps % STEPS_A_LOOK == 0:
            self.checks.look()

    def _raise_errors(self) -> None:
        for client in self._clients:
            if client.is_up and client.task.done():
                client.task.result()
        if self.loop.errors:
            raise ViolationError(self.loop.errors[0])

    async def _until_serving(self) -> None:
        while not all(broker.is_serving for broker in self._brokers):
            await pass_time(0.1)

    async def _until_healed(self) -> None:
        """(9) Every partition has a leader and a full ISR within the replica lag time and 15 s."""
        until_s = clock.now_s + HEAL_S
        while (problem := self.checks.unhealed()) is not None:
            if clock.now_s > until_s:
                raise ViolationError(f"(9) {HEAL_S:.0f} s after the last fault {problem}")
            await pass_time(0.2)


class _Formatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        process = processes.current.get(None)
        name = record.name.rpartition(".")[2]
        return f"{clock.now_s:9.3f} {process} {record.levelname} {name}: {super().format(record)}"


class _Exceptions(logging.Handler):
    """Collects log lines of the broker with an exception, which are unexpected ones."""

    def __init__(self, errors: list[str]) -> None:
        super().__init__(logging.ERROR)
        self._errors = errors

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.name.startswith("odradek."):
            self._errors.append(f"{processes.current.get()} logs {record.getMessage()}: {record.exc_info[1]!r}")


def _watch_logs(errors: list[str], *, to_stderr: bool) -> None:
    handlers: list[logging.Handler] = [_Exceptions(errors)]
    if to_stderr:
        handlers.append(logging.StreamHandler(sys.stderr))
        handlers[-1].setFormatter(_Formatter("%(message)s"))
    logging.basicConfig(handlers=handlers, level=logging.INFO if to_stderr else logging.ERROR)
