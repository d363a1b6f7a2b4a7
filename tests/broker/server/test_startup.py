"""A start costs little, logs little and can be stopped; a second broker on the same directory gets an error."""

import json
import re
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from odradek import __version__
from odradek.broker.server.random_ids import random_uuid, random_uuid_text
from support.brokers.our_broker import OurBroker

NEVER_AT_START = (
    # for the first consumer group
    "odradek.broker.groups.consumer.group",
    # for the pipeline
    "pyspark",
    "numpy",
    "pyarrow",
    "pandas",
    "numba",
    # on first use
    "construct",
    "rich",
    "click",
    "prometheus_client",
    "scramp",
    "cramjam",
    "re2",
    "odradek.broker.server.first_topics",
    "odradek.protocol.exchange",
    # of security
    "cryptography",
    "jwt",
    "hmac",
    "odradek.broker.security.authorization.standard_authorizer",
    "odradek.broker.security.authentication",
    "odradek.broker.security.authorization",
    "odradek.broker.config.sasl",
    "odradek.broker.security.tls.engine",
    "odradek.broker.security.tls.listener",
    "odradek.broker.security.tls.transport",
    "odradek.broker.quotas.client_quotas",
    "odradek.broker.quotas.connection_rates",
    "odradek.broker.security.tls.http_tls",
    "odradek.broker.security.authentication.sasl_listener",
    "odradek.broker.security.tls.listeners",
    "odradek.protocol.security.jaas",
    "odradek.protocol.security.key_stores",
    "odradek.protocol.security.scram",
    "odradek.protocol.security.tls_context",
    "odradek.protocol.security.login_exchange",
    "odradek.protocol.security.login_mechanisms",
    # other rooms
    "pytest",
    "odradek.client",
    "odradek.pipeline",
    "odradek.testing",
)
"""Modules that a broker must not import before its first request, because of start time and memory."""

SERVE_AND_TELL = """
import gc, os, pathlib, signal, sys
from odradek.broker.server import commands, serve_options

told = pathlib.Path(sys.argv[1])
write_ready_file = commands.write_ready_file

def write_and_tell(path, running):
    write_ready_file(path, running)
    assert gc.isenabled() and gc.get_freeze_count(), "garbage is looked for again, but not among what has started"
    executed = [name for name, module in sys.modules.items() if type(module).__name__ != "_LazyModule"]
    told.write_text(" ".join(executed))
    os.kill(os.getpid(), signal.SIGTERM)

commands.write_ready_file = write_and_tell
sys.exit(serve_options.serve(sys.argv[2:]))
"""


@pytest.mark.parametrize("starts", [1, 2], ids=["a new directory", "one that was served before"])
def test_a_started_broker_has_imported_only_what_serving_needs(tmp_path: Path, starts: int) -> None:
    told = tmp_path / "modules"
    overrides = ["--override", "listeners=PLAINTEXT://127.0.0.1:0", "--override", f"log.dirs={tmp_path / 'logs'}"]
    command = [sys.executable, "-c", SERVE_AND_TELL, str(told), *overrides, "--ready-file", str(tmp_path / "ready")]
    for _ in range(starts):
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert run.returncode == 0, run.stderr
    modules = told.read_text().split()
    assert "odradek.broker.server.broker_server" in modules
    assert "odradek.storage.log.log" in modules
    too_much = [m for m in modules if any(m == never or m.startswith(never + ".") for never in NEVER_AT_START)]
    assert not too_much


def test_the_version_is_that_of_the_installation() -> None:
    assert __version__ == version("odradek")


def test_random_ids_are_those_of_version_4() -> None:
    for value in (uuid.UUID(bytes=random_uuid()), uuid.UUID(random_uuid_text())):
        assert (value.version, value.variant) == (4, uuid.RFC_4122)
    assert str(uuid.UUID(text := random_uuid_text())) == text
    assert len({random_uuid_text() for _ in range(1000)}) == 1000


def test_help_imports_no_broker() -> None:
    code = (
        "import sys, odradek.broker.server.serve_options as m; m.parser()\n"
        "print(*(name for name, module in sys.modules.items() if type(module).__name__ != '_LazyModule'))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert not loaded & {
        "asyncio",
        "uvloop",
        "importlib.metadata",
        "odradek.broker.server.broker_server",
        "odradek.protocol.codec",
    }


def test_it_says_where_it_listens_where_the_data_is_and_how_to_stop_it(tmp_path: Path) -> None:
    with OurBroker(tmp_path) as broker:
        line = next(line for line in broker.log().splitlines() if "listens on" in line)
        assert f"PLAINTEXT://127.0.0.1:{broker.port}" in line
        assert f"data in {broker.log_dir.resolve()}" in line
        assert "SIGTERM" in line
        assert "advertises" not in line, "clients are told the bound address"
        ready = json.loads((tmp_path / "ready.json").read_text())
        assert ready["bootstrap_servers"] == broker.bootstrap_servers
        assert ready["log_dirs"] == [str(broker.log_dir.resolve())]
        assert ready["pid"] == broker.pid
        assert len(ready["cluster_id"]) == 22


def test_it_says_what_it_advertises_if_that_is_another_address(tmp_path: Path) -> None:
    with OurBroker(tmp_path, {"advertised.listeners": "PLAINTEXT://localhost:1"}) as broker:
        line = next(line for line in broker.log().splitlines() if "listens on" in line)
        assert re.search(
            r"listens on PLAINTEXT://127\.0\.0\.1:[0-9]{2,5}, advertises PLAINTEXT://localhost:1, data", line
        )


def test_it_serves_without_standard_streams(tmp_path: Path) -> None:
    with OurBroker(tmp_path, command_prefix=("sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh")) as broker:
        with socket.create_connection(("127.0.0.1", broker.port)) as client:
            client.sendall(b"\0\0\0\0")  # no request: the broker closes the connection
            assert client.recv(1) == b""
        assert broker.stop() == 0


def test_nohup_keeps_it_alive(tmp_path: Path) -> None:
    with OurBroker(tmp_path, command_prefix=("nohup",)) as broker:
        broker.process.send_signal(signal.SIGHUP)
        assert broker.stop() == 0
        assert broker.log().count("stopped cleanly") == 1


@pytest.fixture
def hang_ups_are_heard() -> Iterator[None]:
    """Under ``nohup`` SIGHUP is ignored, and a process inherits that from its parent."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("hang_ups_are_heard")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_stops_it_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    with OurBroker(tmp_path) as broker:
        process = broker.process
        # An idle client and one in the middle of a frame do not delay the stop.
        with (
            socket.create_connection(("127.0.0.1", broker.port)),
            socket.create_connection(("127.0.0.1", broker.port)) as half,
        ):
            half.sendall(b"\0\0\1\0half")
            process.send_signal(number)
            assert process.wait(60) == 0
        assert (broker.log_dir / ".kafka_cleanshutdown").exists()
        assert not (tmp_path / "ready.json").exists(), "the ready file of a stopped broker must not stay"
        assert "stopped cleanly" in broker.log()
        assert "Traceback" not in broker.log()


def test_a_kill_leaves_the_directory_to_the_next_start(tmp_path: Path) -> None:
    with OurBroker(tmp_path) as broker:
        cluster = json.loads((tmp_path / "ready.json").read_text())["cluster_id"]
        broker.kill()
        assert not (broker.log_dir / ".kafka_cleanshutdown").exists()
        broker.start()
        assert json.loads((tmp_path / "ready.json").read_text())["cluster_id"] == cluster


def serve_beside(log_dir: Path, *overrides: str, ready_file: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a second ``odradek serve``, which must end by itself."""
    keys = ("listeners=PLAINTEXT://127.0.0.1:0", f"log.dirs={log_dir}", *overrides)
    options = [part for key in keys for part in ("--override", key)]
    options += [] if ready_file is None else ["--ready-file", str(ready_file)]
    command = [sys.executable, "-m", "odradek", "serve", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_a_ready_file_that_cannot_be_written_is_told_before_the_start(tmp_path: Path) -> None:
    missing = tmp_path / "missing" / "ready.json"
    second = serve_beside(tmp_path / "logs", ready_file=missing)
    assert (second.returncode, second.stderr) == (
        1,
        f"odradek serve: --ready-file {missing}: its directory does not exist\n",
    )
    assert not (tmp_path / "logs").exists()


def test_the_ready_file_of_a_dead_broker_is_removed_at_once_and_that_of_a_live_one_stays(tmp_path: Path) -> None:
    """A script that waits for the file would take the address of the dead one. These starts are refused."""
    ready = tmp_path / "ready.json"
    with OurBroker(tmp_path) as broker:
        assert serve_beside(broker.log_dir, ready_file=ready).returncode == 1
        assert json.loads(ready.read_text())["pid"] == broker.pid
        broker.kill()
        assert ready.exists()
        assert serve_beside(broker.log_dir, "node.id=7", ready_file=ready).returncode == 1
        assert not ready.exists()
        for text in ("", "[]", '{"pid": "1"}'):
            ready.write_text(text)
            assert serve_beside(broker.log_dir, "node.id=7", ready_file=ready).returncode == 1
            assert ready.read_text() == text, "not a file of ours"


def test_a_second_broker_on_the_directory_is_refused(tmp_path: Path) -> None:
    with OurBroker(tmp_path) as broker:
        second = serve_beside(broker.log_dir)
        assert second.returncode == 1
        assert str(broker.log_dir) in second.stderr
        assert "lock" in second.stderr
        assert "Traceback" not in second.stderr
        assert broker.stop() == 0, "the first one is not disturbed"


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    with OurBroker(tmp_path) as broker:
        listeners = f"listeners=PLAINTEXT://127.0.0.1:{broker.port}"
        second = serve_beside(tmp_path / "other", listeners)
        assert second.returncode == 1
        assert str(broker.port) in second.stderr
        assert "another process has this port" in second.stderr
        assert "Traceback" not in second.stderr


def test_a_directory_of_another_node_is_told(tmp_path: Path) -> None:
    with OurBroker(tmp_path) as broker:
        broker.stop()
        other = serve_beside(broker.log_dir, "node.id=7")
        assert other.returncode == 1
        assert "node.id" in other.stderr
        assert "Traceback" not in other.stderr


@pytest.mark.parametrize(("text", "said"), [("version=1\nnode.id=one\n", "cluster.id"), ("", "version is missing")])
def test_a_damaged_identity_is_told(tmp_path: Path, text: str, said: str) -> None:
    with OurBroker(tmp_path) as broker:
        broker.stop()
        (broker.log_dir / "meta.properties").write_text(text)
        other = serve_beside(broker.log_dir)
        assert other.returncode == 1
        assert "meta.properties" in other.stderr
        assert said in other.stderr
        assert "Traceback" not in other.stderr
