"""Controllers change, die, hang and return. No broker is fenced because of that, and brokers serve their partitions."""

import re
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Message, Producer

from cluster.plain_clients import create_unassigned_topic
from cluster.tcp_proxy import Direction, TcpProxy
from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.kafka.real_controllers import RealController, RealControllers

pytestmark = [pytest.mark.java, pytest.mark.ci]

CANT_FOLLOW = "can't follow the metadata of the controllers"
PATIENT = {"broker.session.timeout.ms": "9000", "broker.heartbeat.interval.ms": "500"}
"""Kafka's session timeout: a request that hangs for 2 s does not end a session."""


@pytest.fixture(scope="module")
def controllers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealControllers]:
    """Three controllers; each test leaves them running."""
    with RealControllers(tmp_path_factory.mktemp("controllers"), 3, PATIENT) as started:
        yield started


@pytest.fixture(scope="module")
def broker(controllers: RealControllers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    """Broker 1, with the controllers as voters. It must not be fenced in any test."""
    with controllers.broker(tmp_path_factory.mktemp("member"), 1, PATIENT) as started:
        create(started, "load")
        yield started
        assert "have fenced this broker" not in started.log()
        assert " ERROR " not in started.log()


def create(broker: OurBroker, topic: str) -> None:
    create_unassigned_topic(broker.bootstrap_servers, topic)


@contextmanager
def producing(broker: OurBroker) -> Iterator[list[int]]:
    """Produces one record after another in a thread. Yields the offsets that were acknowledged so far."""
    acknowledged: list[int] = []
    failed: list[KafkaError] = []
    stop = threading.Event()

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failed.append(error)
        else:
            acknowledged.append(message.offset() or 0)

    def run() -> None:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "enable.idempotence": True})
        while not stop.is_set():
            producer.produce("load", b"x" * 100, on_delivery=delivered)
            producer.flush()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield acknowledged
    finally:
        stop.set()
        thread.join()
    assert not failed
    assert acknowledged == list(range(acknowledged[0], acknowledged[0] + len(acknowledged)))


def goes_on(acknowledged: list[int]) -> None:
    """Waits for further acknowledgements."""
    before = len(acknowledged)
    eventually("more is acknowledged", lambda: len(acknowledged) >= before + 20)


def active(broker: OurBroker) -> int:
    """The node id of the active controller as the broker has logged it."""
    return int(re.findall(r"the active controller is node (\d+)", broker.log())[-1])


def node(controllers: RealControllers, node_id: int) -> RealController:
    return next(one for one in controllers.nodes if one.node_id == node_id)


def test_active_controller_that_dies_under_load_is_replaced_and_comes_back(
    controllers: RealControllers, broker: OurBroker
) -> None:
    old = active(broker)
    with producing(broker) as acknowledged:
        goes_on(acknowledged)
        node(controllers, old).kill()
        goes_on(acknowledged)
        create(broker, "without-the-old")
        assert active(broker) != old
        node(controllers, old).start()
        create(broker, "with-the-old-again")
        goes_on(acknowledged)


def test_active_controller_that_hangs_is_left(controllers: RealControllers, broker: OurBroker) -> None:
    """After SIGSTOP its connections stay open, and nothing is answered."""
    old = active(broker)
    with producing(broker) as acknowledged:
        node(controllers, old).send_signal(signal.SIGSTOP)
        try:
            eventually("another controller is active", lambda: active(broker) != old)
            create(broker, "while-it-hangs")
            goes_on(acknowledged)
        finally:
            node(controllers, old).send_signal(signal.SIGCONT)
        create(broker, "after-it-hung")
        goes_on(acknowledged)


@pytest.mark.nightly
def test_broker_without_any_controller_serves_what_it_leads(
    controllers: RealControllers, broker: OurBroker, tmp_path: Path
) -> None:
    """It logs that every ten seconds. Another broker stops during that time, at the second signal."""
    servers = {"controller.quorum.voters": "", "controller.quorum.bootstrap.servers": controllers.addresses}
    with controllers.broker(tmp_path, 2, servers) as other, producing(broker) as acknowledged:
        for one in controllers.nodes:
            one.kill()
        before = broker.log().count(CANT_FOLLOW)
        other.process.send_signal(signal.SIGTERM)
        eventually("the first signal is taken", lambda: "asking the controllers to move" in other.log())
        assert other.stop() == 0
        assert "a second signal came" in other.log()
        eventually("the broker has complained twice", lambda: broker.log().count(CANT_FOLLOW) >= before + 2)
        goes_on(acknowledged)
        for one in controllers.nodes:
            one.start()
        create(broker, "with-all-again")
        goes_on(acknowledged)


@pytest.mark.parametrize("survivor_was_active", [True, pytest.param(False, marks=pytest.mark.nightly)])
def test_log_says_what_is_known_of_each_controller_if_two_of_three_are_dead(
    controllers: RealControllers, broker: OurBroker, survivor_was_active: bool
) -> None:
    """A survivor that was active resigns. Another one may go on naming the dead one (KIP-996, ``ProspectiveState``)."""
    was_active = active(broker)
    alive = next(one for one in controllers.nodes if (one.node_id == was_active) is survivor_was_active)
    dead = [one for one in controllers.nodes if one is not alive]
    before = len(broker.log())
    for one in dead:
        one.kill()
    said = [f"127.0.0.1:{alive.port} knows no active controller"]
    if not survivor_was_active:
        said.append(f"127.0.0.1:{alive.port} is not active, and names node {was_active} as the active controller")

    def lines() -> list[str]:
        complaints = [line for line in broker.log()[before:].splitlines() if CANT_FOLLOW in line]
        # The first lines may come before the broker has asked all of them.
        named = [line for line in complaints if all(f"127.0.0.1:{node.port}" in line for node in dead)]
        return [line for line in named if any(text in line for text in said)]

    eventually("the broker says what it knows", lines)
    assert "another controller is active" not in broker.log()
    for one in dead:
        one.start()
    create(broker, f"with-a-majority-again-{survivor_was_active}")


def test_connections_that_break_in_any_way_are_opened_anew_within_the_session(tmp_path: Path) -> None:
    """There is one controller behind a proxy, as a bootstrap server."""
    with ExitStack() as stack:
        proxies: list[TcpProxy] = []

        def door(port: int) -> int:
            proxies.append(stack.enter_context(TcpProxy(port)))
            return proxies[-1].port

        controllers = stack.enter_context(RealControllers(tmp_path / "controllers", configs=PATIENT, door=door))
        servers = {"controller.quorum.voters": "", "controller.quorum.bootstrap.servers": controllers.addresses}
        broker = stack.enter_context(controllers.broker(tmp_path / "b", 1, {**PATIENT, **servers}))
        (proxy,) = proxies
        create(broker, "first")
        answers_lost = partial(proxy.hang, frozenset({Direction.TO_CLIENT}))
        for fault in (proxy.hang, answers_lost, proxy.cut):
            before = proxy.accepted
            fault()
            eventually("metadata and heartbeats are back", partial(_accepted, proxy, before + 2))
        proxy.delay(0.2)
        create(broker, "late")
        proxy.heal()
        complaints = broker.log().count(CANT_FOLLOW)
        proxy.swallow(frozenset({Direction.TO_CLIENT}))
        eventually("the broker complains", lambda: broker.log().count(CANT_FOLLOW) > complaints)
        proxy.heal()
        create(broker, "healed")
        assert "have fenced this broker" not in broker.log()
        assert broker.stop() == 0


def _accepted(proxy: TcpProxy, count: int) -> bool:
    return proxy.accepted >= count
