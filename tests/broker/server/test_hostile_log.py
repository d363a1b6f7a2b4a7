"""One hostile client in a tight loop: no forged line, and a few kB of log."""

import re
import socket
from pathlib import Path

import pytest

from odradek.broker.timers.log_lines import BURST_BYTES
from odradek.protocol.codec.header import encode_request
from odradek.protocol.messages.groups import HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest
from odradek.protocol.messages.metadata import MetadataRequest
from odradek.protocol.messages.structure import Message
from support.brokers.our_broker import OurBroker

ROUNDS = 500
FORGED = "\r\n[2026-01-31 23:59:59,999] ERROR the disk has failed (odradek.storage)\x1b[2J"
LINE = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] (INFO|WARNING|ERROR) .* \([\w.]+\)$")
LOG_CALLS = 12
"""More log calls than this client can reach. Each has its own burst."""


def requests_of(number: int) -> list[tuple[Message, int]]:
    """The requests of one round: new groups and members, all named to forge log lines."""
    group = f"{number}{FORGED}" + "g" * 10_000
    protocols = [JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"")]
    join = JoinGroupRequest(
        group_id=group,
        session_timeout_ms=6_000,
        rebalance_timeout_ms=6_000,
        protocol_type="consumer",
        protocols=protocols,
        reason=FORGED,
    )
    return [
        (join, 9),
        (HeartbeatRequest(group_id=group, generation_id=1, member_id=FORGED), 4),
        (
            MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=FORGED)], allow_auto_topic_creation=True),
            9,
        ),
        (LeaveGroupRequest(group_id=group, members=[LeaveGroupRequest.MemberIdentity(member_id=FORGED)]), 5),
    ]


def ask(connection: socket.socket, request: Message, version: int) -> None:
    connection.sendall(encode_request(request, version, 1, FORGED))
    size = int.from_bytes(exactly(connection, 4))
    exactly(connection, size)


def exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        received = connection.recv(count - len(data))
        assert received, "closed"
        data += received
    return data


def send_malformed(port: int, number: int) -> None:
    """Sends a frame that the codec refuses, and waits until the connection is closed."""
    request = MetadataRequest([MetadataRequest.MetadataRequestTopic(name="spool")])
    frame = encode_request(request, 8, number, FORGED).replace(b"\x00\x05spool", b"\x70\x05spool")
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(frame)
        assert connection.recv(1) == b""


@pytest.mark.ci
def test_a_hostile_client_forges_no_line_and_fills_no_log(tmp_path: Path) -> None:
    with OurBroker(tmp_path) as broker:
        before = len(broker.log())
        with socket.create_connection(("127.0.0.1", broker.port)) as connection:
            for number in range(ROUNDS):
                for request, version in requests_of(number):
                    ask(connection, request, version)
                send_malformed(broker.port, number)
        assert broker.stop() == 0
        text = broker.log()
        assert len(text) - before < LOG_CALLS * BURST_BYTES
        lines = text.splitlines()
        strange = [line for line in lines if not LINE.match(line) and not line.startswith("odradek ")]
        assert not strange
        assert not [line for line in lines if "] ERROR the disk" in line and line.index("ERROR") < 40]
        refusals = [line for line in lines if "closing the connection" in line]
        assert "more lines of this kind" in refusals[-1]
