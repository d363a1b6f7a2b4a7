"""Metrics of connections: by listener, and by client library."""

from collections import Counter

import pytest
from kafka import KafkaProducer

from odradek.broker.metrics.connection_metrics import MAX_SOFTWARE, OTHERS, bounded
from odradek.testing import InProcessBroker

from .metric_samples import PATIENCE_S, samples_of

SOCKETS = "kafka_server_socket_server_metrics_"
OF = ("PLAINTEXT", "0")
"""The labels of the listener's metrics."""


def test_the_names_of_client_libraries_are_bounded() -> None:
    counts = Counter({("PLAINTEXT", (f"evil-{number}", "1")): 1 for number in range(10_000)})
    counts["PLAINTEXT", ("kafka-python", "3.0")] = 7
    kept = bounded(counts)
    assert len(kept) == MAX_SOFTWARE + 1
    assert kept["PLAINTEXT", ("kafka-python", "3.0")] == 7
    assert kept["PLAINTEXT", OTHERS] == 10_000 - MAX_SOFTWARE + 1


@pytest.mark.kafka(topics="orders", configs={"odradek.metrics.listener": "127.0.0.1:0"})
def test_connections_are_counted_by_listener_and_library(kafka: InProcessBroker) -> None:
    before = samples_of(kafka)
    assert before[f"{SOCKETS}connection_creation_total", *OF] >= before[f"{SOCKETS}connection_close_total", *OF]
    with KafkaProducer(bootstrap_servers=kafka.bootstrap_servers) as producer:
        producer.send("orders", b"one").get(timeout=PATIENCE_S)
        during = samples_of(kafka)
    software = [key[1:] for key in during if key[0] == f"{SOCKETS}connections"]
    assert any(name == "kafka-python" and listener == "PLAINTEXT" for name, _, listener in software), software
    created = during[f"{SOCKETS}connection_creation_total", *OF]
    assert created > before[f"{SOCKETS}connection_creation_total", *OF]
    assert during[f"{SOCKETS}connection_count", *OF] == created - during[f"{SOCKETS}connection_close_total", *OF] > 0
    kafka.wait_until(lambda: samples_of(kafka)[f"{SOCKETS}connection_close_total", *OF] >= created)
