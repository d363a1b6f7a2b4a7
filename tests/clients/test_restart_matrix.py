"""Every kind of client of each library goes on over restarts of the only broker: clean, killed, and resets.

docs/operating.md has the table of the first two, docs/testing.md that of resets.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from odradek.testing.broker.in_process import InProcessBroker
from support.brokers.our_broker import OurBroker
from support.eventually import PATIENCE_S, eventually

from .restart_clients import IN, KINDS, OUT, WRITES_OUT

pytestmark = pytest.mark.nightly

ACTIONS = 10
RESTARTS = (2, 5, 8)
"""The actions during which the broker restarts."""
FAST = {"group.initial.rebalance.delay.ms": "0"}


def restart(broker: OurBroker) -> None:
    broker.stop()
    broker.start()


def kill(broker: OurBroker) -> None:
    broker.kill()
    broker.start()


def create_topics(address: str) -> None:
    """Creates the topics that no client has created by asking for them."""
    admin = AdminClient({"bootstrap.servers": address})
    for created in admin.create_topics([NewTopic(IN, 1, 1), NewTopic(OUT, 1, 1)]).values():
        error = created.exception(PATIENCE_S)
        if error is not None and error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise error


def numbers(address: str, count: int) -> list[int]:
    """The committed numbers in OUT, at least ``count``."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": "check", "isolation.level": "read_committed"})
    consumer.assign([TopicPartition(OUT, 0, 0)])
    found: list[int] = []

    def has_all() -> bool:
        message = consumer.poll(0.5)
        if message is not None and message.error() is None:
            found.append(int(message.value() or b"-1"))
        return len(found) >= count

    eventually(lambda: f"{count} numbers, and not only {found}", has_all)
    extra = consumer.poll(0.5)
    while extra is not None and extra.error() is None:
        found.append(int(extra.value() or b"-1"))
        extra = consumer.poll(0.5)
    consumer.close()
    return found


@pytest.mark.parametrize("end", [restart, kill], ids=["stop", "kill"])
@pytest.mark.parametrize(("library", "kind"), KINDS)
def test_it_goes_on(library: str, kind: str, end: Callable[[OurBroker], None], tmp_path: Path) -> None:
    with OurBroker(tmp_path, FAST) as broker:
        create_topics(broker.bootstrap_servers)
        client = KINDS[library, kind](broker.bootstrap_servers)
        for number in range(ACTIONS):
            client.act(number, (lambda: end(broker)) if number in RESTARTS else lambda: None)
        client.close()
        if any(word in kind for word in WRITES_OUT):
            found = numbers(broker.bootstrap_servers, ACTIONS)
            assert set(found) == set(range(ACTIONS))
            if kind != "plain producer":
                assert found == sorted(set(found)), "each once, in their order"


@pytest.mark.parametrize(
    ("library", "kind"), [key for key in KINDS if "transactions" not in key[1] and "copies" not in key[1]]
)
def test_it_goes_on_over_resets(library: str, kind: str) -> None:
    """Topics and groups are gone; the client's next action is with new ones."""
    with InProcessBroker(configs=FAST) as kafka:
        create_topics(kafka.bootstrap_servers)
        client = KINDS[library, kind](kafka.bootstrap_servers)
        for number in range(ACTIONS):
            if number in RESTARTS:
                kafka.reset()
                create_topics(kafka.bootstrap_servers)
            client.act(number, lambda: None)
        client.close()
