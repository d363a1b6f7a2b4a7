"""Debezium writes the same changes of a PostgreSQL to our broker and to a real Kafka.

A distributed worker of Connect: a snapshot, then inserts, updates, deletes and a changed key, and rows that come while
the worker is stopped.
"""

import asyncio
import re
from functools import cache
from pathlib import Path

import pytest

from support.brokers.our_broker import OurBroker
from support.kafka.java import FORMER_KAFKA_VERSION, fetched, java_or_skip
from support.kafka.real_kafka import RealKafka
from systems.connect import ConnectWorker
from systems.gallery.contents import contents
from systems.gallery.postgres import Postgres

DEBEZIUM = "3.6.1.Final"
TOPIC = "shop.public.orders"
BEFORE = """
CREATE TABLE orders (id int PRIMARY KEY, customer text, price numeric(8, 2), placed timestamp, parts jsonb);
ALTER TABLE orders REPLICA IDENTITY FULL;
INSERT INTO orders VALUES (1, 'Odradek', 1.50, '2026-11-30 12:00:00', '{"spool": 1}'),
  (2, 'Büchner', 20.00, '2026-11-30 12:00:01', NULL), (3, NULL, 3.75, '2026-11-30 12:00:02.5', '[]');
"""
RUNNING = """
INSERT INTO orders VALUES (4, 'Lenz', 4.00, '2026-11-30 12:00:03', '{}');
UPDATE orders SET price = 2.50 WHERE id = 1;
DELETE FROM orders WHERE id = 2;
UPDATE orders SET id = 5 WHERE id = 3;
"""
STOPPED = "INSERT INTO orders VALUES (6, 'Leonce', 6, NULL, NULL); UPDATE orders SET customer = 'Lena' WHERE id = 6;"
AFTER = "DELETE FROM orders WHERE id = 6;"
RECORDS = {BEFORE: 3, RUNNING: 7, STOPPED: 2, AFTER: 2}
"""Statements -> how many records they become: a delete has a tombstone too, and a changed key is a delete and a create.
"""
CONNECTOR = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "plugin.name": "pgoutput",
    "topic.prefix": "shop",
    "database.hostname": "127.0.0.1",
    "database.user": "postgres",
    "database.password": "unused",
    "database.dbname": "postgres",
    "topic.creation.default.replication.factor": "1",
    "topic.creation.default.partitions": "1",
    "topic.creation.default.cleanup.policy": "compact",
}
JSON = "org.apache.kafka.connect.json.JsonConverter"
WORKER = {
    "exactly.once.source.support": "disabled",
    **{f"{part}.converter": JSON for part in ("key", "value")},
    **{f"{part}.converter.schemas.enable": "false" for part in ("key", "value")},
}
DIFFERS = re.compile(r'"(ts_ms|ts_us|ts_ns|lsn|txId|sequence)":(\d+|"\[.*?\]")')
"""Times and positions in PostgreSQL's log."""
RUN = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""The id that a header has for each run of a task."""
OF_CONNECT = re.compile(r"(record|end) connect-")
"""Its internal topics, whose number of records depends on the time."""

pytestmark = [pytest.mark.nightly, pytest.mark.java]


@cache
def debezium_libs() -> Path:
    """The directory with the jars of Debezium's connector and of Connect, fetched once. Raises JavaMissingError.

    Connect is of the release before: Debezium 3.6.1 uses a class that the clients of 4.4 lack (``Sanitizer``).
    """
    artifacts = [
        *(("io.debezium", name, DEBEZIUM) for name in ("debezium-connector-postgres", "debezium-api")),
        *(("org.apache.kafka", name, FORMER_KAFKA_VERSION) for name in ("connect-runtime", "connect-json")),
        ("org.slf4j", "slf4j-simple", "1.7.36"),
    ]
    return fetched(f"debezium-{DEBEZIUM}-{FORMER_KAFKA_VERSION}", artifacts)


def wait_for(worker: ConnectWorker, servers: str, records: int) -> None:
    def is_there() -> bool:
        return f"end {TOPIC}-0 {records}" in asyncio.run(contents(servers))

    worker.process.wait_for(f"{records} records", is_there)


def captured(servers: str, directory: Path) -> list[str]:
    """Makes the changes while the worker runs. Returns what is in the topics then."""
    with Postgres() as postgres, ConnectWorker(servers, directory, WORKER, debezium_libs()) as worker:
        postgres.sql(BEFORE)
        worker.configure("shop", {**CONNECTOR, "database.port": str(postgres.port)})
        wait_for(worker, servers, expected := RECORDS[BEFORE])
        postgres.sql(RUNNING)
        wait_for(worker, servers, expected := expected + RECORDS[RUNNING])
        worker.process.stop()
        postgres.sql(STOPPED)
        worker.start_again()
        wait_for(worker, servers, expected := expected + RECORDS[STOPPED])
        postgres.sql(AFTER)
        wait_for(worker, servers, expected + RECORDS[AFTER])
        worker.process.stop()
        assert " ERROR " not in worker.process.log()
    lines = asyncio.run(contents(servers))
    return [RUN.sub("RUN", DIFFERS.sub(r'"\1":0', line)) for line in lines if not OF_CONNECT.match(line)]


def test_changes_of_a_database(tmp_path: Path) -> None:
    java_or_skip()
    found = {}
    for name, kind in {"ours": OurBroker, "kafka": RealKafka}.items():
        there = tmp_path / name
        there.mkdir()
        with kind(there) as broker:
            found[name] = captured(broker.bootstrap_servers, there)
    assert sum(line.startswith(f"record {TOPIC}") for line in found["kafka"]) == sum(RECORDS.values())
    assert found["ours"] == found["kafka"]
