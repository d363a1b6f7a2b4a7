"""After the warm-up no request imports anything. A worker of the cleaner that has another version does nothing."""

import errno
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import cast

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

import odradek
from odradek.broker.server import warm_up
from odradek.broker.server.warm_up_modules import MODULES
from odradek.broker.timers.timers import Timer
from odradek.protocol.codec.header import encode_request
from odradek.protocol.messages.metadata import MetadataRequest
from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from tools import warm_up_list

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


def test_the_list_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TESTS_LANE_DIFFERENCES", raising=False)  # the comparison of lanes imports modules
    assert warm_up_list.TARGET.read_text() == warm_up_list.text(), "run `make warm-up`"


def test_what_is_left_out_exists() -> None:
    for name in warm_up_list.AT_START:
        assert find_spec(name), name


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

    monkeypatch.setattr(warm_up, "import_module", import_or_fail)
    scheduled, finished = Scheduled(), list[bool]()
    warm_up.WarmUp(scheduled.schedule, lambda: finished.append(True)).step()
    steps = 1
    while scheduled.due is not None:
        failing[:] = [error] if steps % 3 == 0 else []
        scheduled.run_out()
        steps += 1
    assert finished == [True]
    assert imported == list(MODULES), "each once"
    assert set(scheduled.pauses) == {warm_up.PAUSE_MS, warm_up.RETRY_MS}
    assert not [record for record in caplog.records if record.levelname != "INFO"]


def test_a_worker_of_another_version_cleans_nothing() -> None:
    """After ``pip install -U`` under a running broker. The two may not understand each other's data."""
    command = [sys.executable, "-m", "odradek.storage.compaction.worker", "0.0.1"]
    run = subprocess.run(command, input=b"", capture_output=True, check=True)
    outcome, reason = pickle.loads(run.stdout)
    assert outcome is None
    assert f"odradek {odradek.__version__} was installed while a broker of version 0.0.1 runs" in reason
