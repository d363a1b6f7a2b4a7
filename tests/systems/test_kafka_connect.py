"""Kafka Connect, unmodified: lines of a file to a topic exactly once, and from the topic to another file.

Connect 4.4.0, a distributed worker with ``exactly.once.source.support=enabled``: compacted internal topics, a group of
the protocol ``sessioned``, a fenced zombie, a transaction for the records and offsets of each poll.
"""

from pathlib import Path

import pytest

from support.brokers.our_broker import OurBroker
from support.brokers.python_clients import CLIENTS
from systems.committed import committed
from systems.connect import ConnectWorker

LINES = 100
"""The number of lines: so few that FileStreamSource reads all of them in one poll. It would return remaining ones only
after the file has grown again."""
PIECES = 4

pytestmark = [pytest.mark.nightly, pytest.mark.java]


def append(file: Path, first: int) -> list[str]:
    lines = [f"line {number}" for number in range(first, first + LINES)]
    with file.open("a") as out:
        out.writelines(f"{line}\n" for line in lines)
    return lines


def wait_for_last(worker: ConnectWorker, sink: Path, written: list[str]) -> None:
    worker.process.wait_for(
        f"the sink has {written[-1]}", lambda: sink.exists() and written[-1] in sink.read_text().split("\n")
    )


def test_lines_reach_the_topic_exactly_once(tmp_path: Path) -> None:
    source, sink = tmp_path / "source.txt", tmp_path / "sink.txt"
    written = append(source, 0)
    with OurBroker(tmp_path, {"group.initial.rebalance.delay.ms": "0"}) as broker:
        servers = broker.bootstrap_servers
        CLIENTS["confluent-kafka"].create_topic(servers, "lines", 1)
        with ConnectWorker(servers, tmp_path) as worker:
            file_connector = "org.apache.kafka.connect.file.FileStream"
            worker.configure(
                "source",
                {
                    "connector.class": f"{file_connector}SourceConnector",
                    "file": str(source),
                    "topic": "lines",
                    "exactly.once.support": "required",
                    "transaction.boundary": "poll",
                },
            )
            worker.configure(
                "sink",
                {
                    "connector.class": f"{file_connector}SinkConnector",
                    "file": str(sink),
                    "topics": "lines",
                    "consumer.override.isolation.level": "read_committed",
                },
            )
            for number in range(1, PIECES):
                wait_for_last(worker, sink, written)
                written += append(source, number * LINES)
            worker.restart_after_kill()
            written += append(source, PIECES * LINES)
            wait_for_last(worker, sink, written)
            assert committed(servers, "lines", len(written)) == written
            assert set(sink.read_text().splitlines()) == set(written), "a sink may write a line again, as in Kafka"
            assert worker.process.log().count("ERROR") == 0
            worker.process.stop()
        assert " ERROR " not in broker.log()
