"""``odradek console`` beside a real Apache Kafka: every view answers, changes arrive, and what is missing says why."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from odradek.console.routes import ROUTES
from support.kafka.real_kafka import RealKafka

from .console_client import ConsoleClient
from .test_command import console, parts

pytestmark = pytest.mark.java

FILLED = {"{topic}": "orders", "{partition}": "0", "{group}": "readers", "{offset}": "0"}
QUERIES = {
    "/api/topic-details": "?names=orders",
    "/api/group-details": "?names=readers",
    "/api/topics/{topic}/records": "?partition=0",
    "/api/topics/{topic}/search": "?text=one",
    "/api/topics/{topic}/partitions/{partition}/records/{offset}/download": "?part=value",
}
ONLY_OURS = ("/api/connections", "/api/rebalances", "/api/log")


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealKafka]:
    directory: Path = tmp_path_factory.mktemp("kafka")
    with RealKafka(directory, {"group.initial.rebalance.delay.ms": "0"}) as broker:
        yield broker


def test_it_shows_and_changes_a_real_kafka(kafka: RealKafka) -> None:
    with console("--bootstrap-server", kafka.bootstrap_servers) as address:
        port, token = parts(address)
        client = ConsoleClient(port)
        assert client.log_in(token=token).status == 200

        wanted = {"name": "orders", "partitions": 2, "set": ["retention.ms=86400000"]}
        preview = client.post("/api/topics", wanted).json
        assert preview["command"].startswith("odradek topics")
        assert kafka.bootstrap_servers in preview["command"]
        assert "orders" not in [topic["name"] for topic in client.get("/api/topics").json["topics"]]
        assert client.post("/api/topics", {**wanted, "confirm": True}).json["done"]
        again = client.post("/api/topics", {**wanted, "confirm": True})
        assert (again.status, again.json["code"]) == (409, "TOPIC_ALREADY_EXISTS")

        producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
        producer.produce("orders", "one", partition=0)
        assert producer.flush(60) == 0
        group = {"group.id": "readers", "auto.offset.reset": "earliest"}
        consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, **group})
        consumer.subscribe(["orders"])
        [message] = consumer.consume(1, 60)
        consumer.commit(message=message, asynchronous=False)

        look_at_everything(client)
        consumer.close()
        gone = client.post("/api/topics/orders/delete", {"name": "orders", "confirm": True})
        assert gone.json["done"]
        assert client.get("/api/topics/orders").status == 404


def look_at_everything(client: ConsoleClient) -> None:
    for route in ROUTES:
        if route.method != "GET":
            continue
        path = route.path
        for name, text in FILLED.items():
            path = path.replace(name, text)
        path += QUERIES.get(route.path, "")
        if route.is_stream:
            with client.stream(path) as lines:
                first = next(line for line in lines if line.startswith((b"data:", b"event:")))
            assert first.startswith(b"event: failed" if route.path in ONLY_OURS else b"data:"), (route.path, first)
            continue
        answer = client.get(path)
        assert answer.status == (404 if route.path in ONLY_OURS else 200), (route.path, answer.body)
        if route.path in ONLY_OURS:
            assert "odradek serve --console" in answer.json["error"]
