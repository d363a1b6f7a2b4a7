"""``odradek console`` as a user starts it."""

import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from odradek.testing import BrokerSecurity, InProcessBroker, SecuredBroker
from support.security.tls_files import tls_files

from .console_client import ConsoleClient
from .test_secured import Factory


@contextmanager
def console(*arguments: str) -> Iterator[str]:
    """The address that a running command prints. It must end cleanly on SIGTERM, with nothing on standard error."""
    command = [sys.executable, "-m", "odradek", "console", "--listener", "127.0.0.1:0", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = process.stdout.readline()
    try:
        assert said.startswith("console at "), process.communicate()
        yield said.removeprefix("console at ").strip()
    finally:
        process.terminate()
        _, errors = process.communicate()
        assert (process.returncode, errors) == (0, "")


def refused(*arguments: str) -> str:
    command = [sys.executable, "-m", "odradek", "console", *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode != 0
    assert run.stdout == ""
    return run.stderr


def parts(address: str) -> tuple[int, str]:
    """The port and the token of an address."""
    base, _, token = address.partition("#token=")
    return int(base.rstrip("/").rpartition(":")[2]), token


@pytest.mark.kafka(topics="orders:2")
def test_the_printed_token_opens_a_session(kafka: InProcessBroker) -> None:
    with console("--bootstrap-server", kafka.bootstrap_servers) as address:
        port, token = parts(address)
        client = ConsoleClient(port)
        assert client.get("/api/topics").status == 401
        assert client.log_in(token="x" * len(token)).status == 401
        assert client.log_in(token=token).status == 200
        assert "orders" in [topic["name"] for topic in client.get("/api/topics").json["topics"]]
        facts = client.get("/api/session").json
        assert facts["commandOptions"] == ["--bootstrap-server", kafka.bootstrap_servers]
        assert facts["hasInsights"] is False
        assert client.get("/api/connections").status == 404
        with client.stream("/api/log") as lines:
            assert b"event: failed\n" in list(lines)


@pytest.mark.kafka(topics="orders:2")
def test_with_read_only_nothing_changes(kafka: InProcessBroker) -> None:
    with console("--bootstrap-server", kafka.bootstrap_servers, "--read-only") as address:
        port, token = parts(address)
        client = ConsoleClient(port)
        client.log_in(token=token)
        assert client.post("/api/topics/orders/delete", {"name": "orders", "confirm": True}).json["code"] == "READ_ONLY"
    assert kafka.topics() == ["orders"]


def test_a_cluster_that_is_not_there_is_an_answer() -> None:
    with console("--bootstrap-server", "127.0.0.1:1") as address:
        port, token = parts(address)
        client = ConsoleClient(port)
        assert client.log_in(token=token).status == 200
        answer = client.get("/api/topics")
        assert (answer.status, answer.json["code"]) == (503, "BROKER_NOT_AVAILABLE")


def test_off_loopback_it_needs_tls() -> None:
    for host in ("0.0.0.0", "[::]", "10.0.0.1", ""):
        assert "--listener-config" in refused("--listener", f"{host}:8080")
    assert "HOST:PORT" in refused("--listener", "8080")
    assert "security.protocol=SASL_SSL" in refused("--login")


def test_a_page_over_tls(tmp_path: Path) -> None:
    files = tls_files(tmp_path)
    properties = tmp_path / "listener.properties"
    properties.write_text("".join(f"{key}={text}\n" for key, text in files.listener().items()))
    with console("--bootstrap-server", "127.0.0.1:1", "--listener-config", str(properties)) as address:
        port, token = parts(address)
        assert address.startswith("https://")
        client = ConsoleClient(port, ssl.create_default_context(cafile=files.trust))
        assert client.get("/").status == 200
        opened = client.log_in(token=token)
        assert opened.headers["Set-Cookie"].endswith("; Secure")
        assert client.post("/api/session/end", {}, Origin=client.origin.replace("https", "http")).status == 403


def test_a_login_acts_with_the_rights_of_its_user(kafka_broker_factory: Factory, tmp_path: Path) -> None:
    broker: SecuredBroker = kafka_broker_factory(security=BrokerSecurity(users={"alice": "alice-secret"}))
    properties = tmp_path / "client.properties"
    without_login = {key: text for key, text in broker.client("alice").java.items() if key != "sasl.jaas.config"}
    properties.write_text("".join(f"{key}={text}\n" for key, text in without_login.items()))
    given = ("--bootstrap-server", broker.bootstrap_servers, "--command-config", str(properties), "--login")
    with console(*given) as address:
        port, token = parts(address)
        assert token == ""
        client = ConsoleClient(port)
        assert client.get("/api/session").json["mechanisms"] == ["SCRAM-SHA-512"]
        assert client.log_in(user="alice", password="wrong").status == 401
        assert client.log_in(user="alice", password="alice-secret").status == 200
        assert client.get("/api/topics").status == 200
        assert client.get("/api/session").json["commandOptions"][-2:] == ["--command-config", str(properties)]
