"""After the warm-up no request imports anything, and the cleaner's worker is of the broker's version."""

import ast
import errno
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import cast

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from odradek.broker.cleaner.worker_code import WorkerCode, is_needed
from odradek.broker.server import warm_up
from odradek.broker.server.warm_up import modules
from odradek.broker.timers.timers import Timer
from odradek.protocol.codec.header import encode_request
from odradek.protocol.messages.metadata import MetadataRequest
from support.brokers.our_broker import OurBroker
from support.eventually import eventually

LOADED = """
import sys
from importlib import import_module
import odradek.broker.server.commands
from odradek.broker.server.warm_up import modules
for name in modules():
    import_module(name)
for name, module in list(sys.modules.items()):
    print(name, getattr(module, "__file__", None) or "-")
"""
NOT_NEEDED = {
    "uvloop": "imported before the loop runs",
    "resource": "imported at the start",
    "crc32c": "imported at the start",
    "importlib.metadata": "the version, at the start",
    "ctypes": "the worker's",
    "odradek.broker.network.queued_requests": "imported at the start if queued.max.request.bytes is set",
    "odradek.broker.metrics.endpoint": "imported at the start if metrics are configured",
    "odradek.broker.metrics.broker_state_metric": "the same",
    "odradek.broker.metrics.controller_metrics": "the same",
    "odradek.broker.metrics.directory_metrics": "the same",
    "odradek.broker.metrics.log_metrics": "the same",
    "odradek.broker.metrics.loop_load": "the same",
    "odradek.broker.metadata.broker_state": "the same",
    "odradek.broker.server.connection_metering": "the same",
    "odradek.broker.metrics.loop_delay": "the same",
    "odradek.broker.metrics.pieces": "the same",
    "odradek.broker.metrics.process_metrics": "the same",
    "odradek.broker.server.request_metering": "the same",
    "odradek.broker.dispatch.metering": "the same",
    "odradek.broker.network.waiting": "the same",
    "odradek.broker.server.coordinator_metering": "the same",
    "odradek.broker.server.quota_metering": "the same",
    "odradek.broker.metrics.replica_metrics": "the same",
    "odradek.broker.server.first_topics": "imported at the start if it creates topics",
    "odradek.broker.server.kafkas_lines": "imported at the start of the image",
    "odradek.broker.server.cluster_member": "imported at the start of a broker of a cluster",
    "odradek.broker.acls.standard_authorizer": "imported at the start if an authorizer is configured",
    "odradek.broker.authorization.guard": "the same",
    "odradek.broker.security.metrics_tls": "imported at the start if the metrics have TLS",
    "odradek.protocol.security.tls_context": "the same",
    "odradek.broker.network.tls_listener": "imported at the start if a listener has TLS",
    "odradek.broker.security.tls_listeners": "the same",
    "odradek.broker.config.sasl": "imported at the start if a listener uses SASL",
    "odradek.broker.security.sasl_listener": "the same",
    "odradek.broker.security.sasl_mechanisms": "the same",
    "odradek.broker.server.scram_secret": "the same",
    "odradek.broker.authentication.failures": "the same",
    "odradek.broker.transactions.peers": "imported at the start of a broker of a cluster",
}
SWAPPED_INSTALLATION = """
import sys
from odradek.broker.server import serve_options, warm_up

class Gone:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("odradek", "construct", "cramjam", "re2"):
            print("imported late:", name, file=sys.stderr, flush=True)
            raise ImportError(name + " is of another version")

def log_imported():
    sys.meta_path.insert(0, Gone())
    print("warm", file=sys.stderr, flush=True)

warm_up.log_imported = log_imported
sys.exit(serve_options.serve(sys.argv[1:]))
"""


def late_imports(path: Path, package: str) -> Iterator[str]:
    """The modules that functions of a file import, as absolute names."""
    tree = ast.parse(path.read_text())
    for function in (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)):
        for node in ast.walk(function):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = package.rsplit(".", node.level - 1)[0] if node.level else ""
                if node.module is None:
                    yield from (f"{base}.{alias.name}" for alias in node.names)
                else:
                    yield ".".join(part for part in (base, node.module) if part)


def test_every_late_import_of_what_runs_is_done_in_advance() -> None:
    run = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    loaded = dict(line.split(" ", 1) for line in run.stdout.splitlines())
    missing = {}
    for name, file in loaded.items():
        if name.startswith(("odradek.broker", "odradek.protocol", "odradek.storage")) and file.endswith(".py"):
            package = name if file.endswith("__init__.py") else name.rpartition(".")[0]
            for imported in late_imports(Path(file), package):
                if imported not in loaded and imported not in NOT_NEEDED:
                    missing[imported] = name
    assert not missing, "add these to warm_up.py"


def test_all_modules_of_the_list_exist_once() -> None:
    assert len(modules()) == len(set(modules()))


class SwappedBroker(OurBroker):
    """A broker whose installation is replaced as soon as it is warm."""

    program = ("-c", SWAPPED_INSTALLATION)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[OurBroker]:
    with SwappedBroker(tmp_path, {"log.cleaner.backoff.ms": "100"}) as started:
        wait_until_logged(started, "warm")
        yield started
        assert started.stop() == 0
        assert "imported late" not in started.log()
        assert "Traceback" not in started.log()


def wait_until_logged(broker: OurBroker, words: str) -> None:
    def is_logged() -> bool:
        assert broker.process.poll() is None, broker.log()
        return words in broker.log()

    eventually(words, is_logged)


@pytest.mark.ci
def test_requests_are_served_after_the_installation_was_replaced(broker: OurBroker) -> None:
    servers: dict[str, str | int | float | bool] = {"bootstrap.servers": broker.bootstrap_servers}
    admin = AdminClient(servers)
    admin.create_topics([NewTopic("spools", 2, config={"compression.type": "gzip"})])["spools"].result()
    for codec in ("gzip", "snappy", "lz4", "zstd"):
        producer = Producer({**servers, "compression.type": codec, "transactional.id": codec})
        producer.init_transactions()
        producer.begin_transaction()
        producer.produce("spools", b"value" * 100)
        producer.commit_transaction()
    for protocol, topic in (("classic", "spools"), ("consumer", "spools"), ("consumer", "^spo.*")):
        group = {"group.id": f"{protocol} {topic}", "group.protocol": protocol, "auto.offset.reset": "earliest"}
        consumer = Consumer({**servers, **group})
        consumer.subscribe([topic])
        read = 0
        while read < 4:
            message = consumer.poll(1)
            if message is not None:
                assert message.error() is None
                read += 1
        consumer.commit(asynchronous=False)
        consumer.close()
    send_malformed(broker.port)
    wait_until_logged(broker, "topics[0].name: ")


def send_malformed(port: int) -> None:
    import socket

    request = MetadataRequest([MetadataRequest.MetadataRequestTopic(name="spool")])
    frame = encode_request(request, 8, 1, "c").replace(b"\x00\x05spool", b"\x70\x05spool")
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(frame)
        assert connection.recv(1) == b""


class Scheduled:
    """Timers that a test fires: ``pauses``: their delays in ms; ``due`` calls back."""

    def __init__(self) -> None:
        self.pauses: list[int] = []
        self.due: Callable[[], None] | None = None

    def schedule(self, delay_ms: int, callback: Callable[[], None]) -> Timer:
        self.pauses.append(delay_ms)
        self.due = callback
        return cast("Timer", None)

    def run_out(self) -> None:
        due, self.due = self.due, None
        assert due is not None
        due()


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.EMFILE, "Too many open files"),
        OSError(errno.ENFILE, "Too many open files in system"),
        ImportError("xxhash.so: cannot open shared object file: Too many open files"),
    ],
    ids=["EMFILE", "ENFILE", "dlopen"],
)
def test_without_a_descriptor_the_warm_up_waits(
    error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Modules that could not be imported at that time used to be skipped for ever, and the worker's code was
    incomplete.
    """
    failing: list[Exception] = []
    imported: list[str] = []

    def import_or_fail(name: str) -> None:
        if failing:
            raise failing[0]
        imported.append(name)

    def get_code(loader: SourceFileLoader, name: str) -> CodeType:
        if failing:
            raise failing[0]
        return compile("", name, "exec")

    monkeypatch.setattr(warm_up, "import_module", import_or_fail)
    monkeypatch.setattr(SourceFileLoader, "get_code", get_code)
    scheduled, finished, code = Scheduled(), list[bool](), WorkerCode()
    warm_up.WarmUp(scheduled.schedule, code, lambda: finished.append(True)).step()
    steps = 1
    while scheduled.due is not None:
        failing[:] = [error] if steps % 3 == 0 else []
        scheduled.run_out()
        steps += 1
    assert finished == [True]
    assert imported == modules(), "each once"
    assert code.command()[0][0] == "-c"
    _, sent = code.command()
    assert pickle.loads(sent).keys() >= {name for name in sys.modules if is_needed(name)}
    assert set(scheduled.pauses) == {warm_up.PAUSE_MS, warm_up.RETRY_MS}
    assert not [record for record in caplog.records if record.levelname != "INFO"]


WORKER_WITHOUT_DISK = """
import sys
from importlib.machinery import PathFinder
find = PathFinder.find_spec
def find_spec(name, path=None, target=None):
    if name.partition(".")[0] == "odradek":
        raise ImportError(name + " was read from the disk")
    return find(name, path, target)
PathFinder.find_spec = find_spec
exec(sys.argv[1])
"""


def test_the_worker_takes_all_of_its_modules_from_the_broker() -> None:
    import odradek.storage.compaction.worker  # noqa: F401 - what the warm-up has imported

    code = WorkerCode()
    assert code.command()[0] == ["-m", "odradek.storage.compaction.worker"]
    for copy in code.read():
        copy()
    (_, bootstrap), sent = code.command()
    assert len(sent) < 3_000_000
    # Its input ends instead of an order, so that it only starts and waits for one.
    command = [sys.executable, "-c", WORKER_WITHOUT_DISK, bootstrap]
    run = subprocess.run(command, input=sent, capture_output=True, check=False)
    assert run.stderr.decode().splitlines()[-1] == "EOFError: Ran out of input", run.stderr.decode()
    assert run.returncode not in (0, -signal.SIGSEGV)
