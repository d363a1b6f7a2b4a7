"""Sends requests to both brokers at the same time, under the same client quotas."""

import contextlib
import time
from collections.abc import Iterator, Mapping
from typing import Any

from odradek.protocol.messages.metadata import ApiVersionsRequest
from odradek.protocol.messages.quotas import AlterClientQuotasRequest, DescribeClientQuotasRequest
from odradek.protocol.messages.structure import Message
from parity.side import DEADLINE_S
from parity.two_brokers import TwoBrokers

Entry = AlterClientQuotasRequest.EntryData
Entity = AlterClientQuotasRequest.EntityData
Operation = AlterClientQuotasRequest.OpData
PROBE = "probe"
HARDLY_ANY = 0.000_001
"""A quota that one request exceeds."""


def quota(entity: Mapping[str, str | None], key: str, value: float | None) -> Entry:
    """Sets a quota; None removes it."""
    operation = Operation(key, float(value or 0), remove=value is None)
    return Entry([Entity(kind, name) for kind, name in entity.items()], [operation])


class QuotaSteps:
    """Runs the same steps on Odradek and on Kafka."""

    def __init__(self, both: TwoBrokers) -> None:
        self._wire = both.wire
        self._ports = both.ours.port, both.kafka.port
        self._connections = 0
        self._longest_ms = 0.0
        """The longest time of a request since the quotas were set, without the time that its connection was muted."""
        self._mute_ms: dict[str, int] = {}
        """Connection -> the longer throttle time of its last two answers."""

    def connection(self) -> str:
        """The name of a new connection."""
        self._connections += 1
        return f"quotas-{id(self)}-{self._connections}"

    def ask(self, request: Message, version: int, connection: str = "quotas", client_id: str = "wire") -> list[Any]:
        """Sends a request to both brokers at the same time. Returns our answer and Kafka's."""
        begun = time.monotonic()
        for port in self._ports:
            self._wire.send(port, request, version, connection, client_id)
        answers = [self._wire.receive(port, connection, 60_000) for port in self._ports]
        took_ms = (time.monotonic() - begun) * 1000 - self._mute_ms.get(connection, 0)
        self._longest_ms = max(self._longest_ms, took_ms)
        assert all("body" in answer for answer in answers), f"{request.NAME}: {answers}"
        bodies = [answer["body"] for answer in answers]
        self._mute_ms[connection] = max(body.get("throttleTimeMs", 0) for body in bodies)
        return bodies

    @contextlib.contextmanager
    def limited(self, *entries: Entry) -> Iterator[str]:
        """Sets quotas for the duration of the block. Yields the name of a new connection."""
        self._limit(*entries)
        self._longest_ms = 0.0
        try:
            yield self.connection()
        finally:
            self.unlimit(*entries)

    def _limit(self, *entries: Entry) -> None:
        """Sets quotas, and waits until both brokers enforce them. Kafka enforces them shortly after its answer."""
        probed = Entry([Entity("client-id", PROBE)], [Operation("request_percentage", HARDLY_ANY)])
        for body in self.ask(AlterClientQuotasRequest([*entries, probed]), 1):
            assert all(entry["errorCode"] == 0 for entry in body["entries"]), body
        deadline, connection = time.monotonic() + DEADLINE_S, self.connection()
        while any(body["throttleTimeMs"] == 0 for body in self._probes(connection)):
            assert time.monotonic() < deadline, "the quotas are not enforced"

    def unlimit(self, *entries: Entry) -> None:
        """Removes quotas, and waits until neither broker shows them."""
        gone = [Entry(entry.entity, [Operation(op.key, remove=True) for op in entry.ops]) for entry in entries]
        self.ask(AlterClientQuotasRequest([*gone, quota({"client-id": PROBE}, "request_percentage", None)]), 1)
        deadline = time.monotonic() + DEADLINE_S
        while any(body["entries"] for body in self.ask(DescribeClientQuotasRequest([], False), 1)):
            assert time.monotonic() < deadline, "the quotas are still there"

    def _probes(self, connection: str) -> list[Any]:
        return self.ask(ApiVersionsRequest("wire", "1"), 3, connection, PROBE)

    def same_throttle_times(self, answers: list[Any], least_ms: int = 0) -> int:
        """Asserts that both throttle times agree. Returns Kafka's.

        They may differ by 5 %, by 150 ms, or by the longest time of a request: on a busy machine, one broker may serve
        a request that much later than the other.
        """
        ours, kafka = (answer["throttleTimeMs"] for answer in answers)
        assert abs(ours - kafka) <= max(0.05 * kafka, 150, self._longest_ms), f"ours: {ours} ms, Kafka: {kafka} ms"
        assert kafka >= least_ms, f"Kafka: {kafka} ms"
        assert (ours > 0) == (kafka > 0), f"ours: {ours} ms, Kafka: {kafka} ms"
        return int(kafka)
