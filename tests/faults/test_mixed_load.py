"""Well-behaved clients together with hostile ones: members stay in their groups, transactions commit, memory stays
flat.

``make test-long-mixed`` runs for ten minutes. The seed of the hostile client is printed with a failure;
``MIXED_LOAD_SEED=<seed>`` repeats its requests.
"""

import asyncio
import os
import random
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from faults.hostile_client import HostileClient
from odradek.protocol.errors import ErrorCode
from support.brokers.asking import Asking
from support.brokers.heavy_requests import create, delete
from support.brokers.our_broker import OurBroker, resident_bytes
from support.groups.load import Line, RawConsumer, RawMember

SECONDS = float(os.environ.get("MIXED_LOAD_S", "600"))
SHARE = float(os.environ.get("MIXED_LOAD_SHARE", "0.2"))
MEMBERS = 10
GROWTH_BYTES = 100 * 10**6
SESSION_MS = "6000"
PATIENCE_S = 60.0
CONFIGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.session.timeout.ms": SESSION_MS,
    "group.consumer.min.session.timeout.ms": SESSION_MS,
    "group.consumer.heartbeat.interval.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "1000",
}


class Worker(threading.Thread):
    """Calls a function repeatedly until it must stop. :meth:`end` raises its error."""

    def __init__(self, what: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self._what = what
        self._stop_asked = threading.Event()
        self._failure: BaseException | None = None
        self.times = 0

    def run(self) -> None:
        try:
            while not self._stop_asked.is_set():
                self._what()
                self.times += 1
        except BaseException as failure:  # noqa: BLE001 - raised again by `end`, in the test's own thread
            self._failure = failure

    def end(self) -> None:
        """Stops after the current call; raises the error of a call."""
        self._stop_asked.set()
        self.join(PATIENCE_S)
        assert not self.is_alive(), "a worker hangs"
        if self._failure is not None:
            raise self._failure


def transactions(servers: str) -> Callable[[], None]:
    """A producer that commits a transaction of ten records and an offset with each call."""
    producer = Producer({"bootstrap.servers": servers, "transactional.id": "well-behaved", "linger.ms": 0})
    producer.init_transactions(PATIENCE_S)
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "committed-by-transactions"})

    def commit() -> None:
        producer.begin_transaction()
        for number in range(10):
            producer.produce("orders", str(number))
        offsets = [TopicPartition("orders", 0, 1)]
        producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), PATIENCE_S)
        producer.commit_transaction(PATIENCE_S)

    return commit


def topics(port: int) -> Callable[[], None]:
    """Creates and deletes a topic with each call."""
    asking = Asking(port, PATIENCE_S)

    def create_and_delete() -> None:
        created = asking.ask(create(["passing"], 3), 5).topics[0].error_code
        assert created == ErrorCode.NONE, ErrorCode(created)
        deleted = asking.ask(delete(["passing"]), 6).responses[0].error_code
        assert deleted == ErrorCode.NONE, ErrorCode(deleted)

    return create_and_delete


async def members(port: int, until: Callable[[], bool]) -> None:
    """Members of both protocols send heartbeats until they must leave. Raises AssertionError if one was removed or
    rebalanced.
    """
    asking = Asking(port, PATIENCE_S)
    assert asking.create("watched", MEMBERS) == 0
    topic_id = asking.ask(create(["ids"], 1), 7).topics[0].topic_id
    classic = [RawMember("classic", "watched", MEMBERS, await Line.open(port)) for _ in range(MEMBERS)]
    await asyncio.gather(*(member.join() for member in classic))
    owners: dict[int, str] = {}
    consumers = [RawConsumer("consumers", "ids", topic_id, await Line.open(port), owners) for _ in range(MEMBERS)]
    await asyncio.gather(*(member.join() for member in consumers))
    leave = asyncio.Event()
    lives = [asyncio.create_task(member.live(leave)) for member in classic]
    lives += [asyncio.create_task(member.live(leave)) for member in consumers]
    while not until():
        done, _ = await asyncio.wait(lives, timeout=0.2, return_when=asyncio.FIRST_EXCEPTION)
        for life in done:
            life.result()
    rejoins = sum(member.rejoins for member in classic)
    leave.set()
    await asyncio.gather(*lives)
    assert rejoins <= MEMBERS * MEMBERS, "members rebalanced after they had all joined"


def mixed(directory: Path, rounds: int, seconds: float, share: float, seed: int) -> str:
    """Runs everything until the hostile client has completed ``rounds`` rounds and the time is over; returns
    measurements.
    """
    with OurBroker(directory, CONFIGS) as broker:
        assert Asking(broker.port).create("orders", 3) == 0
        workers = [Worker(transactions(broker.bootstrap_servers)), Worker(topics(broker.port))]
        for worker in workers:
            worker.start()
        memory: list[int] = []
        ends = time.monotonic() + seconds
        with ExitStack() as stack:
            for worker in workers:
                stack.callback(worker.end)
            hostile = stack.enter_context(HostileClient(broker.port, seed, share))

            def is_over() -> bool:
                assert not hostile.ended.is_set(), "the hostile client has ended by itself"
                if hostile.rounds > len(memory):
                    memory.append(resident_bytes(broker.pid))
                return len(memory) > rounds and time.monotonic() > ends

            asyncio.run(members(broker.port, is_over))
        assert all(worker.times for worker in workers)
        in_mb = " ".join(f"{one / 1e6:.0f}" for one in memory)
        assert memory[-1] - memory[0] < GROWTH_BYTES, f"resident MB after each round: {in_mb}"
        print("resident MB after each round:", in_mb)
        assert "Traceback" not in broker.log(), broker.log()[-3000:]
        return (
            f"{len(memory)} rounds, {workers[0].times} transactions, {workers[1].times} topics made and deleted, "
            f"{memory[0] / 1e6:.0f} MB after the first round, {max(memory) / 1e6:.0f} MB at most, "
            f"{memory[-1] / 1e6:.0f} MB after the last"
        )


@pytest.mark.long
def test_well_behaved_clients_keep_their_places_for_ten_minutes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = int(os.environ.get("MIXED_LOAD_SEED", random.randrange(1 << 30)))
    print(f"MIXED_LOAD_SEED={seed} make test-long-mixed")
    figures = mixed(tmp_path, 2, SECONDS, SHARE, seed)
    with capsys.disabled():
        print(f"\n{figures}, seed {seed}")


@pytest.mark.nightly
def test_well_behaved_clients_keep_their_places(tmp_path: Path) -> None:
    seed = int(os.environ.get("MIXED_LOAD_SEED", "1"))
    print(f"MIXED_LOAD_SEED={seed} pytest -m ci tests/faults/test_mixed_load.py")
    mixed(tmp_path, 1, 0.0, 0.02, seed)
