"""The admin port answers any JSON: what is wrong with it, never an internal error, and the connection stays."""

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from odradek.testing.admin.controlled_broker import ControlledBroker

from ..admin_port import AdminPort, admin_port

REFUSALS = {400, 404, 405, 408, 409, 413, 422}
DEEP = 100_000
HOSTILE: dict[str, str] = {
    "a-text": '"x"',
    "an-empty-text": '""',
    "a-long-text": json.dumps("x" * 40_000),
    "half-a-character": r'"\ud800"',
    "a-zero-byte": r'"a\u0000b"',
    "a-number": "7",
    "zero": "0",
    "a-negative-number": "-7",
    "more-than-32-bits": str(2**40),
    "more-than-64-bits": str(2**70),
    "400-digits": "9" * 400,
    "5000-digits": "9" * 5000,
    "a-fraction": "1.5",
    "more-than-a-double": "1e999",
    "less-than-a-double": "-1e999",
    "NaN": "NaN",
    "Infinity": "Infinity",
    "true": "true",
    "a-list": "[]",
    "a-list-of-lists": "[[1], {}]",
    "a-list-of-numbers": "[1, 2]",
    "an-object": "{}",
    "a-nested-object": '{"a": {"b": [null, {"c": 1}]}}',
    "an-odd-key": r'{"": 1, "\ud800": "\udfff"}',
    "deep-lists": "[" * DEEP + "]" * DEEP,
    "deep-objects": '{"a":' * DEEP + "1" + "}" * DEEP,
}
WAITS = {"7", "1.5", "true", str(2**40)}
FIELDS: dict[tuple[str, str], dict[str, Any]] = {
    ("POST", "/advance"): dict.fromkeys(("days", "hours", "minutes", "seconds", "milliseconds"), 0),
    ("POST", "/compact"): {"topic": "t"},
    ("PUT", "/disk"): {"is_full": False},
    ("POST", "/topics"): {"name": "made", "partitions": 1, "configs": {}},
    ("GET", "/topics/{topic}"): {},
    ("POST", "/topics/{topic}/records"): {"records": [{"value": "v"}]},
    ("GET", "/topics/{topic}/records"): {"timeout_s": 0.01, "count": 1, "partition": 0, "isolation_level": "x"},
    ("GET", "/groups/{group}"): {"timeout_s": 0.01, "wait": "stable", "members": 1},
    ("GET", "/groups/{group}/offsets"): {},
    ("GET", "/groups/{group}/lag"): {"timeout_s": 0.01, "wait": "consumed", "topics": "t"},
    ("DELETE", "/faults/{id}"): {},
    ("GET", "/faults/{id}"): {},
    ("POST", "/faults/{id}/release"): {},
    ("POST", "/recording"): {"max_bytes": 1000},
    ("GET", "/recording"): {"apis": "Produce", "client_id": "c", "count": 1, "timeout_s": 0.01},
    ("POST", "/replay"): {"timeout_s": 0.01, "ignore": "a", "recording": ""},
}
RECORD = {"value": "v", "key": "k", "partition": 0, "headers": {}, "timestamp_ms": 1}
FAULTS: list[dict[str, Any]] = [
    {"fault": "delay", "apis": "Produce", "seconds": 0},
    {"fault": "hold", "apis": "Produce"},
    {"fault": "throttle", "apis": "Produce", "throttle_time_ms": 1},
    {"fault": "announce_versions", "max_versions": {"Produce": 9}},
    {"fault": "move_coordinator", "group": "g"},
]


@pytest.fixture(scope="module")
def admin() -> Iterator[AdminPort]:
    """An admin port and its broker."""
    with ControlledBroker("127.0.0.1", 0, None, {}) as broker, admin_port(broker) as asked:
        yield asked


def answered(admin: AdminPort, method: str, path: str, body: str) -> int:
    """Sends a body and then a plain request on the same connection. Returns the status of the first."""
    connection = HTTPConnection("127.0.0.1", admin.port, timeout=60)
    try:
        connection.request(method, path, body)
        response = connection.getresponse()
        answer = json.loads(response.read())
        status = response.status
        assert status == 200 or (status in REFUSALS and answer["error"]), (method, path, body[:200], status, answer)
        connection.request("GET", "/")
        assert connection.getresponse().status == 200
        return status
    finally:
        connection.close()


def bodies(hostile: str, fields: dict[str, Any]) -> Iterator[str]:
    """The value as the whole body, in place of each field, and as the whole body's field of another name."""
    yield hostile
    for name in (*fields, "another"):
        if name == "timeout_s" and hostile in WAITS:
            continue  # it waits as long as it was told
        others = {key: value for key, value in fields.items() if key != name}
        yield json.dumps(others)[:-1] + (", " if others else "") + f'"{name}": {hostile}}}'


@pytest.mark.parametrize("name", HOSTILE)
def test_any_json_is_answered(admin: AdminPort, name: str) -> None:
    admin.done("POST", "/reset", {"configs": {}, "topics": ["t"]})
    for (method, template), fields in FIELDS.items():
        path = template.replace("{topic}", "t").replace("{group}", "g").replace("{id}", "1")
        for body in bodies(HOSTILE[name], fields):
            answered(admin, method, path, body)
    for body in bodies(HOSTILE[name], RECORD):
        answered(admin, "POST", "/topics/t/records", f'{{"records": [{body}]}}')
    for fault in FAULTS:
        for body in bodies(HOSTILE[name], fault):
            answered(admin, "POST", "/faults", body)
        admin.done("DELETE", "/faults")


@pytest.mark.parametrize("name", [*HOSTILE])
@pytest.mark.parametrize("field", ["topics", "configs"])
def test_any_json_in_a_reset_is_answered(admin: AdminPort, name: str, field: str) -> None:
    for body in (f'{{"{field}": {HOSTILE[name]}}}', f'{{"{field}": [{HOSTILE[name]}]}}'):
        answered(admin, "POST", "/reset", body)
    answered(admin, "POST", "/reset", f'{{"configs": {{"num.partitions": {HOSTILE[name]}}}}}')
    admin.done("POST", "/reset", {"configs": {}})


@pytest.mark.parametrize(
    "key",
    [
        *(
            "log.dirs",
            "log.dir",
            "metadata.log.dir",
            "listeners",
            "advertised.listeners",
            "listener.security.protocol.map",
        ),
        *("ssl.keystore.location", "listener.name.clients.ssl.truststore.location", "odradek.metrics.listener"),
        *("config.providers", "config.providers.file.class", "controller.quorum.voters", "process.roles", "node.id"),
        *("inter.broker.listener.name", "sasl.oauthbearer.token.endpoint.url", "remote.log.storage.manager.class.path"),
    ],
)
def test_no_test_sets_files_or_addresses(admin: AdminPort, tmp_path: Path, key: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    status, reason = admin.refused("POST", "/reset", {"configs": {key: str(elsewhere)}})
    assert status == 400
    assert reason == f"configs: {key!r} can't be set over the admin port; start the broker with it"
    assert not elsewhere.exists()
