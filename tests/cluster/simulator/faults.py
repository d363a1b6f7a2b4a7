"""The faults of a life: kills, lost power, clean stops, pauses, cuts of the network, wrong clocks, disks.

Owns: the order of faults. Invariants: after :meth:`Faults.heal_all` every node runs and every cut is healed. A broker
loses power or a disk only while the others work, and no other fault begins until it is fenced: a broker that is alone
in an ISR and loses unsynced records loses acknowledged ones, also in Kafka.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Collection, Coroutine, Sequence
from typing import Any, TypeVar

from cluster.simulator.disk_faults import DiskFaults
from cluster.simulator.loop import pass_time
from cluster.simulator.network import Network
from cluster.simulator.nodes import SESSION_MS, BrokerNode, ClientNode, ControllerNode, Node

logger = logging.getLogger(__name__)

N = TypeVar("N", bound=Node)
KINDS = {
    "kill": 5,
    "stop": 2,
    "pause": 5,
    "cut": 6,
    "client": 3,
    "power": 1,
    "controller": 1,
    "full": 4,
    "broken": 2,
    "lost": 1,
}
"""The kinds of faults, with their relative frequencies."""


class Faults:
    """One fault after another, some at the same time."""

    def __init__(
        self,
        network: Network,
        controller: ControllerNode,
        brokers: Sequence[BrokerNode],
        clients: Sequence[ClientNode],
        chance: random.Random,
        kinds: Collection[str] = KINDS,
    ) -> None:
        """``kinds``: the faults to inject."""
        self._kinds = {kind: weight for kind, weight in KINDS.items() if kind in kinds}
        self._network = network
        self._controller = controller
        self._brokers = brokers
        self._clients = clients
        self._chance = chance
        self._busy: dict[asyncio.Task[None], Node] = {}
        """The current faults, and the node of each."""
        self.disks = DiskFaults(controller, chance, self._some_s, self._start, is_only_kind=list(kinds) == ["full"])
        self.count = 0

    async def one(self) -> None:
        """Waits a while, then begins a fault, which may overlap with the next ones."""
        chance = self._chance
        await pass_time(chance.choice((0.5, 2.0, 6.0, 15.0)) * chance.random())
        self.count += 1
        kind = chance.choices(list(self._kinds), list(self._kinds.values()))[0]
        if kind in ("power", "lost"):
            await self.heal_all()
            await pass_time(SESSION_MS / 1000)  # the others are unfenced and in sync
            if all(other.is_serving and not other.has_lost_data for other in self._brokers):
                await (self._lose_power if kind == "power" else self._lose_disk)(chance.choice(self._brokers))
        elif kind == "client":
            for client in self._one_free(self._clients):
                self._begin(client, self._client(client))
        elif kind == "controller":
            for controller in self._one_free([self._controller]):
                self._begin(controller, self._controller_dies(controller))
        else:
            of_broker: dict[str, Callable[[BrokerNode], Coroutine[Any, Any, None]]] = {
                "kill": self._kill,
                "stop": self._stop,
                "pause": self._pause,
                "cut": self._cut,
                "full": self.disks.fill_up,
                "broken": self.disks.fail,
            }
            for broker in self._one_free(self._brokers):
                self._begin(broker, of_broker[kind](broker))

    def _one_free(self, nodes: Sequence[N]) -> list[N]:
        """One of the nodes without a fault, if there is one."""
        free = [node for node in nodes if node not in self._busy.values()]
        return [self._chance.choice(free)] if free else []

    def _begin(self, node: Node, fault: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(fault)
        self._busy[task] = node
        task.add_done_callback(self._ended)

    def _ended(self, fault: asyncio.Task[None]) -> None:
        node = self._busy.pop(fault)
        error = fault.exception()
        if error is not None:
            self._network.loop.errors.append(f"{node} ends: {error!r}")
            logger.error("%s ends", node, exc_info=error)

    async def heal_all(self) -> None:
        """Waits until the current faults are over."""
        while self._busy:
            await asyncio.wait(self._busy)

    def _some_s(self) -> float:
        return self._chance.choice((0.05, 0.4, 1.5, 4.0, 8.0)) * (0.5 + self._chance.random())

    # Faults of a broker ------------------------------------------------------

    async def _kill(self, broker: BrokerNode) -> None:
        logger.info("fault: %s is killed", broker)
        broker.kill()
        await pass_time(self._some_s())
        await self._start(broker)

    async def _lose_power(self, broker: BrokerNode) -> None:
        logger.info("fault: %s loses power", broker)
        broker.kill(has_power=False)
        while not self._controller.image.brokers[broker.node_id].fenced:
            await pass_time(0.1)
        self._begin(broker, self._start(broker))

    async def _lose_disk(self, broker: BrokerNode) -> None:
        await self.disks.lose(broker)
        self._begin(broker, self._start(broker))

    async def _stop(self, broker: BrokerNode) -> None:
        logger.info("fault: %s is stopped", broker)
        stopping = broker.stop_cleanly()
        done, _ = await asyncio.wait([stopping], timeout=20 * self._chance.random())
        if done:
            stopping.result()
        broker.kill()
        await pass_time(self._some_s() / 4)
        await self._start(broker)

    async def _start(self, broker: BrokerNode) -> None:
        """Starts a broker, and waits until it serves or is killed while it starts."""
        while True:
            logger.info("%s starts", broker)
            started = broker.start(self._chance.choice((0.0, 0.0, 0.0, -60.0, 3.0)))
            patience_s = None if self._chance.random() < 0.8 else 6 * self._chance.random()
            done, _ = await asyncio.wait([started], timeout=patience_s)
            if done:
                started.result()
                return
            logger.info("fault: %s is killed while it starts", broker)
            broker.kill()

    async def _pause(self, node: Node) -> None:
        seconds = self._some_s()
        logger.info("fault: %s is paused for %.1f s", node, seconds)
        node.pause()
        await pass_time(seconds)
        node.go_on()
        await pass_time(0.2)

    async def _cut(self, broker: BrokerNode) -> None:
        """Cuts some directions between a broker and others."""
        chance, network = self._chance, self._network
        others = [one for one in (*self._brokers, self._controller, *self._clients) if one is not broker]
        share = chance.choice((0.15, 0.5, 1.0))
        some = [one.name for one in others if chance.random() < share]
        directions = chance.choice(("both", "from", "to"))
        cuts = [(broker.name, one) for one in some if directions != "to"]
        cuts += [(one, broker.name) for one in some if directions != "from"]
        cuts = [one for one in cuts if not network.is_cut(*one)]
        seconds = self._some_s()
        logger.info("fault: %s is cut from %s (%s) for %.1f s", broker, ", ".join(some), directions, seconds)
        for one in cuts:
            network.cut(*one)
        await pass_time(seconds)
        for one in cuts:
            network.heal(*one, breaks=chance.random() < 0.4)

    # Faults of other nodes ---------------------------------------------------

    async def _client(self, client: ClientNode) -> None:
        """Pauses a client, or kills and restarts it. The new one takes over its transactional id."""
        if self._chance.random() < 0.5:
            await self._pause(client)
            return
        logger.info("fault: %s is killed", client)
        client.kill()
        await pass_time(self._some_s())
        client.start()

    async def _controller_dies(self, controller: ControllerNode) -> None:
        if self._chance.random() < 0.5:
            await self._pause(controller)
            return
        logger.info("fault: the controller is killed")
        controller.kill()
        await pass_time(self._some_s())
        await controller.start()
