"""The HTTP port that controls a broker for tests in any language."""

import json
import socket
import struct
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka import TopicPartition as ConfluentPartition

from odradek.client.errors import NoBrokersAvailableError
from odradek.testing.admin.controlled_broker import ControlledBroker
from odradek.testing.admin.routes import ROUTES, find, refusal
from support.eventually import eventually

from ..admin_port import AdminPort, admin_port


@pytest.fixture(scope="module")
def admin() -> Iterator[AdminPort]:
    """An admin port and its broker."""
    with ControlledBroker("127.0.0.1", 0, None, {}) as broker, admin_port(broker) as asked:
        yield asked


@pytest.fixture
def port(admin: AdminPort) -> AdminPort:
    """The port, with a running, empty broker."""
    admin.done("POST", "/reset", {"configs": {}})
    return admin


def produced(bootstrap_servers: str, topic: str, value: bytes, **settings: Any) -> list[Any]:
    """Writes one record with confluent-kafka; returns a list with its error, or with None for a success."""
    errors: list[Any] = []
    producer = Producer({"bootstrap.servers": bootstrap_servers, **settings})
    producer.produce(topic, value, on_delivery=lambda error, _: errors.append(error))
    producer.flush()
    return errors


def test_records_go_in_and_come_out(port: AdminPort) -> None:
    created = port.done("POST", "/topics", {"name": "orders", "partitions": 2, "configs": {"retention.ms": 60_000}})
    assert [one["partition"] for one in created["partitions"]] == [0, 1]
    assert port.done("GET", "/topics") == ["orders"]
    assert port.done("GET", "/topics/orders") == created
    places = port.done(
        "POST",
        "/topics/orders/records",
        {
            "records": [
                {"key": "k", "value": "ä", "partition": 1, "timestamp_ms": 1_000, "headers": {"kind": "new"}},
                {"value": {"base64": "/w=="}, "partition": 1},
                {"key": "k", "value": None, "partition": 0},
            ]
        },
    )
    assert [(one["partition"], one["offset"]) for one in places] == [(1, 0), (1, 1), (0, 0)]
    first, second, third = port.done("GET", "/topics/orders/records")
    assert first | {"timestamp_ms": 0} == {
        "partition": 0, "offset": 0, "timestamp_ms": 0, "key": "k", "value": None, "headers": []
    }  # fmt: skip
    assert second == {
        "partition": 1,
        "offset": 0,
        "timestamp_ms": 1_000,
        "key": "k",
        "value": "ä",
        "headers": [{"name": "kind", "value": "new"}],
    }
    assert (third["key"], third["value_base64"]) == (None, "/w==")
    assert port.done("GET", "/topics/orders/records?partition=1&count=1&isolation_level=read_committed") == [second]
    port.done("DELETE", "/topics/orders")
    assert port.done("GET", "/topics") == []


def test_an_unmodified_client_meets_a_fault(port: AdminPort) -> None:
    servers = port.done("POST", "/reset", {"topics": ["orders:2"]})["bootstrap_servers"]
    fault = port.done(
        "POST", "/faults", {"fault": "fail", "apis": "Produce", "error": "NOT_LEADER_OR_FOLLOWER", "topic": "orders"}
    )
    assert fault == {
        "id": fault["id"],
        "description": "NOT_LEADER_OR_FOLLOWER for Produce (topic orders)",
        "fired": 0,
        "is_over": False,
    }
    assert produced(servers, "orders", b"one") == [None]
    assert port.done("GET", f"/faults/{fault['id']}?fired=1") == {**fault, "fired": 1, "is_over": True}
    port.done("DELETE", f"/faults/{fault['id']}")
    assert port.done("GET", "/faults") == []
    lasting = port.done("POST", "/faults", {"fault": "fail", "apis": ["Produce"], "error": 29, "times": "all"})
    (error,) = produced(servers, "orders", b"two")
    assert error.name() == "TOPIC_AUTHORIZATION_FAILED"
    assert port.done("GET", f"/faults/{lasting['id']}")["fired"] == 1
    port.done("DELETE", "/faults")
    assert produced(servers, "orders", b"three") == [None]


def test_held_answers_are_released(port: AdminPort) -> None:
    servers = port.done("POST", "/reset", {"topics": "orders"})["bootstrap_servers"]
    hold = port.done("POST", "/faults", {"fault": "hold", "apis": "Produce"})
    errors: list[Any] = []
    writer = threading.Thread(target=lambda: errors.extend(produced(servers, "orders", b"one")))
    writer.start()
    assert port.done("GET", f"/faults/{hold['id']}?held=1")["held"] == 1
    port.done("POST", f"/faults/{hold['id']}/release")
    writer.join()
    assert errors == [None]


def test_groups_are_seen_and_awaited(port: AdminPort) -> None:
    servers = port.done("POST", "/reset", {"topics": "orders"})["bootstrap_servers"]
    port.done("POST", "/topics/orders/records", {"records": [{"value": "one"}, {"value": "two"}]})
    assert port.refused("GET", "/groups/readers/lag?topics=orders&wait=consumed&timeout_s=0") == (
        408,
        "group readers lags behind by orders-0: 2, after 0 s",
    )
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "readers", "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    try:
        assert len(consumer.consume(2, 60)) == 2
        group = port.done("GET", "/groups/readers?members=1&wait=stable")
        assert group["state"] == "Stable"
        assert group["members"][0]["assignment"] == [{"topic": "orders", "partition": 0}]
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()
    assert port.done("GET", "/groups/readers/offsets") == [{"topic": "orders", "partition": 0, "offset": 2}]
    assert port.done("GET", "/groups/readers/lag?wait=consumed") == [{"topic": "orders", "partition": 0, "lag": 0}]


def test_time_retention_and_compaction(port: AdminPort) -> None:
    port.done("POST", "/topics", {"name": "prices", "configs": {"cleanup.policy": "compact"}})
    port.done("POST", "/topics", {"name": "orders", "configs": {"retention.ms": 3_600_000}})
    for topic in ("prices", "orders"):
        port.done("POST", f"/topics/{topic}/records", {"records": [{"key": "k", "value": str(n)} for n in range(3)]})
    port.done("POST", "/compact", {"topic": "prices"})
    port.done("POST", "/advance", {"days": 1})
    port.done("POST", "/apply-retention")
    assert [record["value"] for record in port.done("GET", "/topics/prices/records")] == ["2"]
    assert port.done("GET", "/topics/orders/records") == []


def test_the_broker_stops_and_starts_on_its_port(port: AdminPort) -> None:
    """The data survives a kill. While the broker does not run, requests are refused with that reason."""
    servers = port.done("GET", "/")["bootstrap_servers"]
    port.done("POST", "/topics", {"name": "orders"})
    port.done("POST", "/topics/orders/records", {"records": [{"value": "one"}]})
    assert port.done("POST", "/kill") == {
        "bootstrap_servers": servers, "is_running": False, "is_paused": False, "disk_is_full": False
    }  # fmt: skip
    assert port.refused("GET", "/topics") == (409, "the broker is not running; POST /start starts it")
    assert port.done("POST", "/start")["bootstrap_servers"] == servers
    assert [record["value"] for record in port.done("GET", "/topics/orders/records")] == ["one"]
    assert port.done("POST", "/pause")["is_paused"]
    assert not port.done("POST", "/resume")["is_paused"]
    assert port.done("POST", "/restart")["bootstrap_servers"] == servers
    assert port.done("POST", "/stop")["is_running"] is False
    assert port.done("POST", "/reset")["bootstrap_servers"] == servers
    assert port.done("GET", "/topics") == []


def test_a_full_disk(port: AdminPort) -> None:
    servers = port.done("POST", "/reset", {"topics": "orders"})["bootstrap_servers"]
    assert port.done("PUT", "/disk", {"is_full": True})["disk_is_full"]
    (error,) = produced(servers, "orders", b"one", **{"message.timeout.ms": 1_000})
    assert error is not None
    assert not port.done("PUT", "/disk", {"is_full": False})["disk_is_full"]
    assert produced(servers, "orders", b"two") == [None]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "reason"),
    [
        ("GET", "/topics/none", None, 404, "UNKNOWN_TOPIC_OR_PARTITION"),
        ("GET", "/topics/none/records", None, 404, "UNKNOWN_TOPIC_OR_PARTITION"),
        ("GET", "/groups/none", None, 404, "GROUP_ID_NOT_FOUND"),
        ("GET", "/nothing", None, 404, "the paths are: /, /advance"),
        ("PUT", "/topics", None, 405, "/topics supports GET, POST, not PUT"),
        ("PATCH", "/reset", None, 405, "/reset supports POST, not PATCH"),
        ("POST", "/topics", {}, 400, "name is missing"),
        (
            "POST",
            "/topics",
            {"name": "a", "partition": 3},
            400,
            "partition is unknown; the arguments are: configs, name",
        ),
        (
            "POST",
            "/topics",
            {"name": "a", "partitions": "three"},
            400,
            "partitions must be an integer, not 'three'",
        ),
        ("POST", "/topics", {"name": "a", "partitions": True}, 400, "partitions must be an integer, not True"),
        ("POST", "/topics", {"name": "a", "configs": {"no.key": "1"}}, 422, "INVALID_CONFIG"),
        ("POST", "/topics", ["a"], 400, "the body must be a JSON object"),
        ("POST", "/topics/a/records", {"records": [{"value": 3}]}, 400, "value must be a string, null, or"),
        ("POST", "/topics/a/records", {"records": [{"values": "x"}]}, 400, "values is unknown"),
        ("POST", "/reset", {"topics": ["a:b"]}, 400, "'a:b' does not name a topic"),
        ("POST", "/reset", {"configs": {"retention.days": 3}}, 400, "Unknown key retention.days"),
        ("POST", "/reset", {"configs": {"num.partitions": 0}}, 400, "must be at least 1 (configs; int"),
        ("POST", "/advance", {"days": -1}, 400, "a clock can't go back"),
        ("POST", "/compact", {"topic": "none"}, 404, "'none' does not exist"),
        ("POST", "/faults", {"apis": "Produce"}, 400, "fault is missing"),
        ("POST", "/faults", {"fault": "explode"}, 400, "fault must be one of announce_versions, delay"),
        ("POST", "/faults", {"fault": "fail", "apis": "Prduce", "error": 1}, 400, "did you mean Produce?"),
        ("POST", "/faults", {"fault": "fail", "apis": "Heartbeat", "error": 1, "topic": "a"}, 400, "names a topic"),
        ("POST", "/faults", {"fault": "delay", "apis": "Produce", "seconds": -1}, 400, "seconds is -1"),
        ("POST", "/faults", {"fault": "hold", "apis": "Produce", "times": 0}, 400, "times is 0"),
        ("POST", "/faults", {"fault": "hold", "apis": "Produce", "tims": 1}, 400, "tims is unknown"),
        ("POST", "/faults", {"fault": "hold", "apis": "Produce", "times": "many"}, 400, 'an integer or "all"'),
        ("POST", "/faults/77/release", None, 404, "fault 77 does not exist"),
        ("GET", "/faults/77", None, 404, "fault 77 does not exist"),
        ("GET", "/groups/none?wait=done", None, 400, "wait must be stable"),
    ],
)
def test_what_is_refused(port: AdminPort, method: str, path: str, body: Any, status: int, reason: str) -> None:
    """The answer has the reason, and nothing has changed."""
    refused, text = port.refused(method, path, body)
    assert (refused, reason in text) == (status, True), text
    assert port.done("GET", "/faults") == []
    assert port.done("GET", "/")["is_running"]


@pytest.mark.parametrize("chunks", [[b'{"topics": ["orders"]}'], [b'{"topics"', b': ["ord', b'ers"]}'], []])
def test_a_body_may_come_in_chunks(port: AdminPort, chunks: list[bytes]) -> None:
    """Clients that write JSON while they encode it, such as .NET's, do not know its length."""
    connection = HTTPConnection("127.0.0.1", port.port)
    for _ in range(2):  # the connection is kept: nothing of the body may be left in it
        connection.request("POST", "/reset", iter(chunks), {"Transfer-Encoding": "chunked"}, encode_chunked=True)
        response = connection.getresponse()
        assert (response.status, response.read()[:1]) == (200, b"{")
    connection.close()
    assert port.done("GET", "/topics") == (["orders"] if chunks else [])


@pytest.mark.parametrize(
    ("request_text", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),  # without Host
        (b"BREW / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 405),
        (b"POST /reset HTTP/1.1\r\nHost: a\r\nContent-Length: many\r\n\r\n", 400),
        (b"POST /reset HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n", 413),
        (b"POST /reset HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"POST /reset HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
    ],
)
def test_what_is_not_a_request_gets_json_and_is_closed(port: AdminPort, request_text: bytes, status: int) -> None:
    with socket.create_connection(("127.0.0.1", port.port)) as client:
        client.sendall(request_text)
        head, _, body = b"".join(iter(lambda: client.recv(65_536), b"")).partition(b"\r\n\r\n")
    assert head.split()[1] == b"%d" % status
    assert list(json.loads(body)) == ["error"]


def test_a_test_that_goes_away_leaves_no_traceback(port: AdminPort, capfd: pytest.CaptureFixture[str]) -> None:
    client = socket.create_connection(("127.0.0.1", port.port))
    client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()  # sends a reset
    assert port.done("GET", "/")["is_running"]  # so the first connection was accepted
    eventually("the connections end", lambda: "odradek-admin-request" not in str(threading.enumerate()))
    assert capfd.readouterr().err == ""


def test_a_broker_that_does_not_answer_is_told() -> None:
    refused = refusal(NoBrokersAvailableError("no broker answers at 127.0.0.1:1"))
    assert refused is not None
    assert (refused.status, "whether it is paused: no broker answers" in refused.message) == (408, True)


def test_every_path_is_found_with_its_arguments() -> None:
    for (method, path), action in ROUTES.items():
        assert find(method, path.replace("{topic}", "a%2Fb").replace("{group}", "g").replace("{id}", "7"))[0] is action
    assert find("GET", "/topics/a%2Fb/records")[1] == {"topic": "a/b"}


def test_clients_get_another_address_than_the_helpers() -> None:
    """As with a published port of a container. The helpers do not use the advertised address."""
    with ControlledBroker("127.0.0.1", 0, "localhost:1", {}) as broker, admin_port(broker) as asked:
        assert asked.done("GET", "/")["bootstrap_servers"] == "localhost:1"
        asked.done("POST", "/topics", {"name": "orders"})
        asked.done("POST", "/topics/orders/records", {"records": [{"value": "one"}]})
        consumer = Consumer({"bootstrap.servers": f"127.0.0.1:{broker.client_port}", "group.id": "g"})
        try:
            with pytest.raises(KafkaException):  # the leader's address is the advertised one, where nothing listens
                consumer.get_watermark_offsets(ConfluentPartition("orders", 0), timeout=1)
        finally:
            consumer.close()


@pytest.mark.parametrize("key", ["listeners", "advertised.listeners", "log.dirs"])
def test_listeners_are_not_configs(key: str) -> None:
    with pytest.raises(ValueError, match=f"{key} can't be set"):
        ControlledBroker("127.0.0.1", 0, None, {key: "x"})
