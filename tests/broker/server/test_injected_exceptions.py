"""An exception in any task, timer, callback or slice of a cluster ends nothing else.

The places are found by the broker's own registry: all of its work passes through :class:`.KindOfWork`. A first run of
the load notes each kind and function that is called; then one place after the other raises while the load runs again.
"""

import contextlib
import functools
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from odradek.broker.timers import work
from odradek.broker.timers.slices import SLICES, SlicedWork
from odradek.broker.timers.work import KindOfWork, name_of
from odradek.testing.cluster import KafkaCluster
from support.eventually import eventually

pytestmark = pytest.mark.ci

TIMES = 3
"""How often an armed place raises."""
PATIENCE_S = 60
CONFIGS = {
    "group.initial.rebalance.delay.ms": 0,
    "log.retention.check.interval.ms": 300,
    "log.cleaner.backoff.ms": 300,
    "log.flush.scheduler.interval.ms": 300,
    "log.flush.interval.messages": 1,
    "replica.fetch.wait.max.ms": 100,
}


class Place(NamedTuple):
    """A kind of work, and the function that it calls."""

    kind: str
    function: str


class InjectedError(Exception):
    """An armed place raises it."""


class Injector:
    """Notes every place that work passes through; the armed one raises after its callback, or in place of its task."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.seen: dict[Place, int] = {}
        self.tasks: dict[Place, None] = {}
        self.raised = 0
        self._armed: Place | None = None
        call, run, advance = KindOfWork.call, KindOfWork._run, SlicedWork.advance

        def calls(kind: KindOfWork, callback: Callable[..., object], *arguments: Any) -> None:
            if self._is_armed(Place(kind.name, name_of(callback))):
                callback = self._raising(callback)
            call(kind, callback, *arguments)

        async def runs(kind: KindOfWork, coroutine: Coroutine[Any, Any, object], subject: str) -> bool:
            place = Place(kind.name, getattr(coroutine, "__qualname__", subject))
            self.tasks[place] = None
            if self._is_armed(place):
                coroutine.close()
                coroutine = self._fail()
            return await run(kind, coroutine, subject)

        def advances(sliced: SlicedWork, *arguments: Any) -> None:
            name = getattr(sliced._steps, "__qualname__", type(sliced._steps).__name__)
            if self._is_armed(Place(SLICES.name, name)):
                sliced._steps = self._raising_steps()
            advance(sliced, *arguments)

        patch.setattr(KindOfWork, "call", calls)
        patch.setattr(KindOfWork, "_run", runs)
        patch.setattr(SlicedWork, "advance", advances)

    def arm(self, place: Place | None) -> None:
        self.raised, self._armed = 0, place

    def _is_armed(self, place: Place) -> bool:
        self.seen[place] = self.seen.get(place, 0) + 1
        if place != self._armed or self.raised >= TIMES:
            return False
        self.raised += 1
        return True

    def _raising(self, callback: Callable[..., object]) -> Callable[..., object]:
        def raising(*arguments: Any) -> None:
            callback(*arguments)
            raise InjectedError

        return functools.wraps(getattr(callback, "func", callback))(raising)

    def _raising_steps(self) -> Iterator[None]:
        yield
        raise InjectedError

    async def _fail(self) -> None:
        raise InjectedError


class Load:
    """Clients that use what a cluster has: topics, acks=all, transactions, groups. Each round has names of its own."""

    def __init__(self, cluster: KafkaCluster) -> None:
        self.servers = cluster.bootstrap_servers
        self.admin = AdminClient({"bootstrap.servers": self.servers})
        self.rounds = 0

    def run(self) -> None:
        self.rounds += 1
        topic, group = f"topic-{self.rounds}", f"group-{self.rounds}"
        self.retried(lambda: self.create(topic))
        self.retried(lambda: self.produce(topic))
        self.retried(lambda: self.transaction(topic))
        assert self.consume(topic, group) >= 6
        self.retried(lambda: self.admin.delete_topics([topic])[topic].result(PATIENCE_S))

    def retried(self, attempt: Callable[[], object]) -> None:
        """Until it succeeds: an injected exception may fail a request."""

        def is_done() -> bool:
            try:
                attempt()
            except KafkaException:
                return False
            return True

        eventually("a client succeeds", is_done, patience_s=PATIENCE_S)

    def create(self, topic: str) -> None:
        config = {"cleanup.policy": "compact,delete", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.01"}
        with contextlib.suppress(KafkaException):  # an earlier attempt may have made it
            self.admin.create_topics([NewTopic(topic, 2, 2, config=config)])[topic].result(PATIENCE_S)
        if topic not in self.admin.list_topics(timeout=PATIENCE_S).topics:
            raise KafkaException

    def produce(self, topic: str) -> None:
        producer = Producer({"bootstrap.servers": self.servers, "enable.idempotence": True, "linger.ms": 0})
        for number in range(6):
            producer.produce(topic, b"value" * 10, key=str(number), partition=number % 2)
        if producer.flush(PATIENCE_S):
            raise KafkaException

    def transaction(self, topic: str) -> None:
        producer = Producer({"bootstrap.servers": self.servers, "transactional.id": topic})
        producer.init_transactions(PATIENCE_S)
        producer.begin_transaction()
        producer.produce(topic, b"in a transaction", key="t", partition=0)
        producer.commit_transaction(PATIENCE_S)

    def consume(self, topic: str, group: str) -> int:
        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": group, "auto.offset.reset": "earliest"})
        consumer.subscribe([topic])
        try:
            got: list[object] = []

            def has_all() -> bool:
                got.extend(consumer.consume(10, 0.2))
                return len(got) >= 6

            eventually("all is consumed", has_all, patience_s=PATIENCE_S)
            self.retried(lambda: consumer.commit(asynchronous=False))
            self.retried(lambda: consumer.offsets_for_times([TopicPartition(topic, 0, 1)], timeout=PATIENCE_S))
            return len(got)
        finally:
            consumer.close()


def test_an_exception_in_any_place_ends_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "PAUSE_S", 0.01)
    monkeypatch.setattr(work, "PAUSE_MAX_S", 0.05)
    injector = Injector(monkeypatch)
    with KafkaCluster(tmp_path / "cluster", 2, CONFIGS) as cluster:
        load = Load(cluster)
        load.run()
        load.run()
        raised = {}
        for place in list(injector.seen):
            if place in injector.tasks:
                continue
            injector.arm(place)
            print(f"{place} raises")
            load.run()
            raised[place] = injector.raised
            assert all(broker.is_running for broker in cluster.brokers), place
        injector.arm(None)
        load.run()
    assert sum(map(bool, raised.values())) > 15, raised


def test_an_exception_in_any_task_ends_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "PAUSE_S", 0.01)
    monkeypatch.setattr(work, "PAUSE_MAX_S", 0.05)
    injector = Injector(monkeypatch)
    with KafkaCluster(tmp_path / "first", 2, CONFIGS) as cluster:
        Load(cluster).run()
    raised = {}
    for number, place in enumerate(list(injector.tasks)):
        injector.arm(place)
        with KafkaCluster(tmp_path / str(number), 2, CONFIGS) as cluster:
            Load(cluster).run()
            assert all(broker.is_running for broker in cluster.brokers), place
        raised[place] = injector.raised
    assert all(raised.values()), raised
