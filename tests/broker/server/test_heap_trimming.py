"""A large request reuses the memory of earlier ones: see ``heap_trimming.py``."""

import os
import socket
import struct
from pathlib import Path

import pytest

from odradek.protocol.codec.header import encode_request
from odradek.protocol.messages.produce import ProduceRequest
from odradek.protocol.messages.structure import ZERO_UUID
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record
from support.brokers.asking import NOW_MS, Asking
from support.brokers.our_broker import OurBroker

REQUEST_BYTES = 1_000_000
PAGES_OF_A_REQUEST = REQUEST_BYTES // 4096
AT_ONCE = 5
"""The number of requests in flight, as in Kafka's and librdkafka's producers."""
ROUNDS = 40


def minor_faults(pid: int) -> int:
    """The minor page faults of a process so far (Linux)."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[7])


@pytest.mark.skipif("CS_GNU_LIBC_VERSION" not in os.confstr_names, reason="the thresholds are glibc's")
def test_large_requests_take_no_new_pages(tmp_path: Path) -> None:
    batch = encode_batch([Record(0, NOW_MS, None, bytes(REQUEST_BYTES), [])])
    data = ProduceRequest.TopicProduceData("large", ZERO_UUID, [ProduceRequest.PartitionProduceData(0, batch)])
    request = encode_request(ProduceRequest(None, -1, 10_000, [data]), 9, 7, "large")
    with OurBroker(tmp_path) as broker:
        assert Asking(broker.port).create("large", 1) == 0
        with socket.create_connection(("127.0.0.1", broker.port), timeout=30) as opened:
            send(opened, request, 2)
            before = minor_faults(broker.pid)
            send(opened, request, ROUNDS)
            taken = minor_faults(broker.pid) - before
        assert Asking(broker.port).end_offset("large", 0) == (0, (ROUNDS + 2) * AT_ONCE)
    # Without the call there are over 20,000 of 48,800. The warm-up may run at the same time, with at most 3,000.
    assert taken < ROUNDS * AT_ONCE * PAGES_OF_A_REQUEST / 6, f"{taken} minor faults"


def send(opened: socket.socket, request: bytes, rounds: int) -> None:
    """Repeatedly sends a request :data:`AT_ONCE` times and reads the answers."""
    for _ in range(rounds):
        opened.sendall(request * AT_ONCE)
        for _ in range(AT_ONCE):
            answer = opened.recv(4, socket.MSG_WAITALL)
            opened.recv(struct.unpack(">i", answer)[0], socket.MSG_WAITALL)
