"""A client that never comes to the advertised address is logged once; one that comes is not, nor one without need."""

import logging
from pathlib import Path
from typing import cast

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from odradek.broker.network.advertised_watch import LONG_MS, MOST_HOSTS, AdvertisedWatch
from odradek.broker.network.connection import ASKS, UNKNOWN_SOFTWARE, WORKS, Connection
from odradek.broker.server.broker_server import BrokerServer
from odradek.protocol.common.steps import run_to_end
from odradek.testing import InProcessBroker


class Came:
    """A connection, as far as the watch looks at it."""

    def __init__(self, host: str, sent: int = ASKS, came_to: tuple[str, int] | None = ("172.18.0.2", 9092)) -> None:
        self.client_host = host
        self.client_id = "shop"
        self.software = ("confluent-kafka-python", "2.16.0")
        self.listener_name = "PLAINTEXT"
        self.sent = sent
        self.came_to = came_to

    @property
    def has_worked(self) -> bool:
        return self.sent >= WORKS


class Watched:
    """A watch and its log lines."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO)
        self._caplog = caplog
        self.advertised: tuple[str, int] | None = ("localhost", 9092)
        self._watch = AdvertisedWatch(lambda _: self.advertised)
        self._now_ms = 0

    def look(self, *connections: Came) -> list[str]:
        """Lets time pass; returns the lines that are logged about these connections."""
        self._now_ms += LONG_MS // 2
        self._caplog.clear()
        run_to_end(self._watch.log_changes(cast(list[Connection], connections), self._now_ms))
        return [record.getMessage() for record in self._caplog.records]


@pytest.fixture
def watched(caplog: pytest.LogCaptureFixture) -> Watched:
    return Watched(caplog)


def test_a_client_that_only_asks_is_logged_once(watched: Watched) -> None:
    asks = Came("172.18.0.5")
    assert watched.look(asks) == watched.look() == []  # it closes the connection, and comes again
    assert watched.look(asks) == [
        "a client at 172.18.0.5 (client.id 'shop', library 'confluent-kafka-python' '2.16.0') asks the listener "
        "PLAINTEXT for metadata, and has sent nothing else for 30 s. It was told to connect to localhost:9092. If it "
        "can't reach that, set advertised.listeners to an address that it reaches; `odradek doctor` shows there what "
        "it gets"
    ]
    assert [line for _ in range(5) for line in watched.look(asks)] == []


def test_a_library_that_does_not_name_itself(watched: Watched) -> None:
    asks = Came("172.18.0.5")
    asks.software, asks.client_id = UNKNOWN_SOFTWARE, None  # type: ignore[assignment]
    lines = [line for _ in range(3) for line in watched.look(asks)]
    assert lines[0].startswith("a client at 172.18.0.5 (client.id '') asks the listener PLAINTEXT for metadata")


@pytest.mark.parametrize("comes_first", [True, False])
def test_an_address_from_which_anything_else_comes_is_never_logged(watched: Watched, comes_first: bool) -> None:
    asks, works = Came("172.18.0.5"), Came("172.18.0.5", WORKS)
    looks = [(works,), (asks,), (asks,)] if comes_first else [(asks,), (asks, works), (asks,)]
    assert [line for seen in looks * 3 for line in watched.look(*seen)] == []


@pytest.mark.parametrize(
    ("advertised", "came_to"),
    [
        (("127.0.0.1", 9092), ("127.0.0.1", 9092)),
        (("localhost", 9092), ("::1", 9092)),
        (None, ("172.18.0.2", 9092)),
        (("localhost", 9092), None),
    ],
)
def test_who_came_by_the_advertised_address_has_reached_it(
    watched: Watched, advertised: tuple[str, int] | None, came_to: tuple[str, int] | None
) -> None:
    watched.advertised = advertised
    assert [line for _ in range(5) for line in watched.look(Came("172.18.0.5", ASKS, came_to))] == []


def test_another_port_of_the_same_host_is_another_address(watched: Watched) -> None:
    watched.advertised = ("127.0.0.1", 29092)
    assert len([line for _ in range(3) for line in watched.look(Came("127.0.0.1", ASKS, ("127.0.0.1", 9092)))]) == 1


def test_the_addresses_of_many_clients_take_bounded_memory(watched: Watched) -> None:
    watched.look(Came("172.18.0.5"))
    watched.look(*(Came(f"10.0.{number >> 8}.{number & 255}", WORKS) for number in range(MOST_HOSTS)))
    assert watched.look(Came("172.18.0.5")) == []  # forgotten, so its time begins anew


def test_what_real_clients_send_says_who_has_come(tmp_path: Path) -> None:
    """The connections of producers and consumers work; those that only ask, as if the address were wrong, do not."""
    with InProcessBroker(tmp_path / "right") as broker:
        servers = {"bootstrap.servers": broker.bootstrap_servers}
        producer = Producer(servers)
        producer.produce("orders", b"one")
        assert producer.flush(60) == 0
        consumer = Consumer({**servers, "group.id": "g"})
        consumer.assign([TopicPartition("orders", 0, 0)])
        assert len(consumer.consume(1, timeout=60)) == 1
        assert any(connection.has_worked for connection in connections(broker))
        consumer.close()
    with InProcessBroker(tmp_path / "wrong", {"advertised.listeners": "PLAINTEXT://127.0.0.1:1"}) as broker:
        address = f"127.0.0.1:{next(iter(broker.ports()))}"
        admin = AdminClient({"bootstrap.servers": address})
        assert admin.list_topics(timeout=60).brokers[1].port == 1
        with pytest.raises(KafkaException):
            Consumer({"bootstrap.servers": address, "group.id": "g"}).get_watermark_offsets(
                TopicPartition("orders", 0), timeout=1
            )
        (asking,) = {connection.has_worked for connection in connections(broker) if connection.sent}
        assert not asking


def connections(broker: InProcessBroker) -> list[Connection]:
    """The open connections of a broker."""
    found: list[Connection] = []

    async def collect(server: BrokerServer) -> None:
        found.extend([*server.broker.connections.ended_asking(), *server.broker.connections])

    broker._running.upkeep(collect)  # type: ignore[union-attr]
    return found
