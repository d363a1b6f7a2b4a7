"""Seeded faults of one broker and its clients: kills, pauses and takeovers while writers, readers and tellers work.

Each fault waits until every process has made progress since the last one. It therefore hits a working system, and the
schedule shows that the system recovers from every fault. Faults depend only on the seed, their times on the machine.
"""

import os
import signal
import time
from random import Random

from support.brokers.our_broker import OurBroker
from support.fire.crew import FAULTS_OF_WORKERS, FireCrew

FAULTS = ("kill-broker", "pause-broker", *FAULTS_OF_WORKERS, "kill-broker-twice")


class Nemesis:
    """The faults of a broker and of the crew."""

    def __init__(self, broker: OurBroker, crew: FireCrew, chance: Random) -> None:
        self._broker = broker
        self._crew = crew
        self._chance = chance
        self._bag: list[str] = []

    def strike(self) -> None:
        """Injects the next fault. Each kind is used before any is repeated."""
        if not self._bag:
            self._bag = self._chance.sample(FAULTS, len(FAULTS))
        fault = self._bag.pop()
        if fault in FAULTS_OF_WORKERS:
            self._crew.strike(fault)
        else:
            self._strike_broker(fault)
        self._crew.wait_for_all()

    def _strike_broker(self, fault: str) -> None:
        self._crew.note(fault)
        seconds = self._chance.uniform(0.3, 2.0)
        match fault:
            case "kill-broker":
                self._broker.kill()
                time.sleep(seconds / 4)
                self._broker.start()
            case "kill-broker-twice":  # the second time while clients come back and transactions are completed
                self._broker.kill()
                self._broker.start()
                time.sleep(seconds / 10)
                self._broker.kill()
                self._broker.start()
            case "pause-broker":
                os.kill(self._broker.pid, signal.SIGSTOP)
                time.sleep(seconds)
                os.kill(self._broker.pid, signal.SIGCONT)
            case _:
                raise ValueError(fault)
