"""A client that stands still after AddOffsetsToTxn loses its connection; all others keep theirs."""

from types import SimpleNamespace
from typing import Any

import pytest

from odradek.broker.metrics.counts import TransactionCounts
from odradek.broker.transactions.stalled_clients import AFTER_START_MS, SILENT_MS, StalledClients, has_defect
from support.groups.harness import VirtualTimers


class Connections:
    """One connection with the id 1."""

    def __init__(self, software: tuple[str, str]) -> None:
        self.closed = 0
        self.one: Any = SimpleNamespace(
            software=software, client_host="127.0.0.1", client_port=1, last_used_ms=0, close=self._close
        )

    def _close(self) -> None:
        self.closed += 1

    def find(self, connection_id: int) -> Any:
        return self.one if connection_id == 1 else None


def watched(software: tuple[str, str], **options: Any) -> tuple[StalledClients, Connections, VirtualTimers]:
    timers, connections = VirtualTimers(), Connections(software)
    given = {"is_enabled": True, "watches_always": False, **options}
    clients = StalledClients(timers, lambda: timers.now_ms, connections, TransactionCounts(), **given)  # type: ignore[arg-type]
    return clients, connections, timers


DEFECT = ("confluent-kafka-python", "2.16.1-librdkafka-2.16.0")


def test_a_silent_client_is_woken() -> None:
    clients, connections, timers = watched(DEFECT)
    clients.offsets_added("one", 1)
    timers.advance(SILENT_MS - 1)
    assert connections.closed == 0
    timers.advance(1)
    assert connections.closed == 1
    timers.advance(10 * SILENT_MS)
    assert connections.closed == 1


def test_a_client_that_goes_on_keeps_its_connection() -> None:
    clients, connections, timers = watched(DEFECT)
    clients.offsets_added("one", 1)
    clients.went_on("one")
    timers.advance(10 * SILENT_MS)
    assert connections.closed == 0


def test_a_client_that_adds_partitions_and_then_stands_still_is_woken() -> None:
    """A record that was not acknowledged before the restart is sent again: AddPartitionsToTxn follows."""
    clients, connections, timers = watched(DEFECT)
    clients.offsets_added("one", 1)
    for _ in range(3):
        timers.advance(SILENT_MS - 100)
        connections.one.last_used_ms = timers.now_ms
    timers.advance(SILENT_MS - 1)
    assert connections.closed == 0
    timers.advance(1)
    assert connections.closed == 1
    timers.advance(10 * SILENT_MS)
    assert connections.closed == 1


@pytest.mark.parametrize(
    ("software", "options", "wait_ms"),
    [
        (("apache-kafka-java", "4.4.0"), {}, 0),
        (DEFECT, {"is_enabled": False}, 0),
        (DEFECT, {}, AFTER_START_MS + 1),
    ],
)
def test_who_is_not_watched(software: tuple[str, str], options: dict[str, Any], wait_ms: int) -> None:
    clients, connections, timers = watched(software, **options)
    timers.advance(wait_ms)
    clients.offsets_added("one", 1)
    timers.advance(10 * SILENT_MS)
    assert connections.closed == 0


@pytest.mark.parametrize(
    ("name", "version", "has"),
    [
        ("librdkafka", "2.16.0", True),
        ("confluent-kafka-python", "2.16.1-librdkafka-2.16.0", True),
        ("confluent-kafka-python", "2.16.1-librdkafka-2.15.1", False),
        ("librdkafka", "2.15.1", False),
        ("librdkafka", "3.0.0", True),
        ("kafka-python", "3.0.12", False),
        ("librdkafka", "unknown", False),
    ],
)
def test_which_clients_have_the_defect(name: str, version: str, has: bool) -> None:
    assert has_defect(name, version) is has
