"""kcat of Debian: metadata, produce with keys and headers, consume by offset and by group, offsets by time."""

import json
import subprocess

import pytest

from odradek.testing import InProcessBroker
from support.debian import program_or_skip

pytestmark = pytest.mark.ci


@pytest.fixture(scope="module", autouse=True)
def installed() -> None:
    """Debian's package."""
    program_or_skip("kcat", "kcat")


def kcat(kafka: InProcessBroker, *arguments: str, typed: str = "") -> str:
    command = ["kcat", "-b", kafka.bootstrap_servers, *arguments]
    run = subprocess.run(command, input=typed, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.kafka(topics="orders:2")
def test_kcat(kafka: InProcessBroker) -> None:
    (broker,) = json.loads(kcat(kafka, "-L", "-J"))["brokers"]
    assert broker["name"] == kafka.bootstrap_servers
    produce = ("-P", "-t", "orders", "-p", "1", "-K", ":", "-z", "lz4", "-H", "source=kcat")
    kcat(kafka, *produce, typed="a:one\nb:two\nc:three\n")
    first, *_ = kafka.records("orders")
    assert (first.key, first.value, first.headers) == (b"a", b"one", [("source", b"kcat")])
    read = kcat(kafka, "-C", "-t", "orders", "-p", "1", "-o", "1", "-e", "-q", "-f", "%o %k %s %h\n")
    assert read == "1 b two source=kcat\n2 c three source=kcat\n"
    asked = kcat(kafka, "-Q", "-t", f"orders:1:{first.timestamp}")
    assert asked.split() == ["orders", "[1]", "offset", "0"]
    in_group = ("-G", "readers", "-c", "3", "-q", "-X", "auto.offset.reset=earliest", "orders")
    assert kcat(kafka, *in_group).split() == ["one", "two", "three"]
    kafka.wait_until_consumed("readers", "orders")
