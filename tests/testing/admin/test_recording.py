"""Recordings over the admin port: requests of clients in any language are recorded, stored and replayed."""

from http.client import HTTPConnection
from urllib.parse import quote

from confluent_kafka import Producer

from odradek.testing.admin.controlled_broker import ControlledBroker

from ..admin_port import AdminPort, admin_port


def write(servers: str, value: bytes) -> None:
    producer = Producer({"bootstrap.servers": servers, "client.id": "shop"})
    producer.produce("orders", value)
    producer.flush()


def test_a_session_is_recorded_and_replayed() -> None:
    with ControlledBroker("127.0.0.1", 0, None, {}) as broker, admin_port(broker) as port:
        assert port.refused("GET", "/recording") == (404, "nothing was recorded; POST /recording starts a recording")
        servers = port.done("POST", "/reset", {"topics": ["orders"]})["bootstrap_servers"]
        port.done("POST", "/recording")
        write(servers, b"one")
        (produced,) = port.done("GET", "/recording?apis=Produce&count=1&client_id=shop")
        batch = produced["request"]["topicData"][0]["partitionData"][0]["records"][0]
        assert (batch["records"][0]["value"], produced["errors"], produced["closed"]) == ("one", [], None)
        port.done("DELETE", "/recording")
        text = file_of(port)
        assert text.startswith('{"odradek_traffic": 1}\n')

        port.done("POST", "/reset", {"topics": ["orders"]})
        same = port.done("POST", "/replay")
        assert (same["differences"], same["skipped"]) == ([], []), same["text"]
        port.done("POST", "/reset", {"topics": ["orders"]})
        port.done("POST", "/topics/orders/records", {"records": [{"value": "another"}]})
        (difference, *_) = port.done("POST", "/replay", {"recording": text, "ignore": ["Metadata"]})["differences"]
        assert (difference["recorded"], difference["replayed"]) == ("0", "1")
        assert difference["path"] == "responses[name=orders].partitionResponses[index=0].baseOffset"


def test_what_is_refused() -> None:
    with ControlledBroker("127.0.0.1", 0, None, {}) as broker, admin_port(broker) as port:
        status, reason = port.refused("POST", "/replay", {"recording": "{}"})
        assert (status, reason.split(",")[0]) == (400, "recording")
        port.done("POST", "/recording", {"max_bytes": 10})
        write(port.done("GET", "/")["bootstrap_servers"], b"one")
        status, reason = port.refused("GET", "/recording")
        assert (status, "10 bytes" in reason) == (409, True)
        status, reason = port.refused("GET", "/recording?count=1")
        assert (status, reason) == (400, "count needs exactly one API in apis")
        assert port.refused("GET", f"/recording?{quote('what')}=1")[0] == 400


def file_of(port: AdminPort) -> str:
    """The content of GET /recording/file, which is not JSON."""
    connection = HTTPConnection("127.0.0.1", port.port)
    try:
        connection.request("GET", "/recording/file")
        response = connection.getresponse()
        assert response.getheader("Content-Type") == "application/jsonl"
        return response.read().decode()
    finally:
        connection.close()
