"""Clients with another protocol, that stop in a request, do not read, or disappear: other clients are still served."""

import contextlib
import random
import socket
import struct
import threading
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from odradek.protocol.codec import decode
from odradek.protocol.codec.header import encode_request
from odradek.protocol.framing.frames import SIZE
from odradek.protocol.messages.fetch import FetchRequest, FetchResponse
from odradek.protocol.messages.groups import OffsetCommitRequest, OffsetCommitResponse, OffsetFetchRequest
from odradek.protocol.messages.metadata import ApiVersionsRequest, MetadataRequest, MetadataResponse
from support.brokers.our_broker import OurBroker, resident_bytes
from support.eventually import eventually

MEGABYTE = 1024 * 1024
PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    """One broker for this module. At the end it has logged no error and stops cleanly."""
    with OurBroker(tmp_path_factory.mktemp("faults")) as started:
        yield started
        assert started.stop() == 0
        assert "Traceback" not in started.log()
        assert " ERROR " not in started.log()


def connect(broker: OurBroker) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", broker.port), timeout=PATIENCE_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def receive(connection: socket.socket) -> bytes:
    """One answer, without its size."""
    return exactly(connection, SIZE.unpack(exactly(connection, 4))[0])


def exactly(connection: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        received = connection.recv(min(count - len(data), MEGABYTE))
        assert received, f"closed after {len(data)} of {count} bytes"
        data += received
    return bytes(data)


def is_closed_by_the_broker(connection: socket.socket) -> bool:
    """Waits for the end of the connection. Returns False if an answer came instead."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def check_that_it_serves(broker: OurBroker) -> None:
    with connect(broker) as connection:
        connection.sendall(encode_request(MetadataRequest(topics=[]), 12, 7, "honest"))
        answer = receive(connection)
        assert int.from_bytes(answer[:4]) == 7
        response, _ = decode(MetadataResponse, 12, answer, 5)
        assert [node.port for node in response.brokers] == [broker.port]


def lines_for(broker: OurBroker, connection_port: int) -> list[str]:
    return [line for line in broker.log().splitlines() if f"127.0.0.1:{connection_port} " in line]


TLS_CLIENT_HELLO = bytes.fromhex("16030100c8010000c40303") + bytes(200)


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP request"),
        (b"POST /topics HTTP/1.1\r\n\r\n", "HTTP request"),
        (TLS_CLIENT_HELLO, "TLS handshake"),
        (b"\x7f\xff\xff\xff", "socket.request.max.bytes"),
        (SIZE.pack(100 * MEGABYTE + 1), "socket.request.max.bytes"),
        (b"\xff\xff\xff\xff", "can't be negative"),
        (SIZE.pack(3) + b"abc", "not a request"),
    ],
    ids=["http", "http-post", "tls", "largest-size", "one-byte-too-many", "negative-size", "too-short"],
)
def test_bytes_of_others_are_refused_in_one_line_of_words(broker: OurBroker, sent: bytes, words: str) -> None:
    with connect(broker) as connection:
        port = connection.getsockname()[1]
        connection.sendall(sent)
        assert is_closed_by_the_broker(connection)
    eventually("a line in the log", lambda: bool(lines_for(broker, port)))
    (line,) = lines_for(broker, port)
    assert words in line
    check_that_it_serves(broker)


def test_half_sent_frames_take_no_memory(broker: OurBroker) -> None:
    check_that_it_serves(broker)
    before = resident_bytes(broker.pid)
    connections = [connect(broker) for _ in range(100)]
    for connection in connections:
        # Each announces the maximum and sends a little of it: 10 GB are announced.
        connection.sendall(SIZE.pack(100 * MEGABYTE) + b"\0\x12\0\0" + bytes(2000))
    check_that_it_serves(broker)
    assert resident_bytes(broker.pid) - before < 50 * MEGABYTE
    for connection in connections:
        connection.close()
    check_that_it_serves(broker)


def test_a_frame_may_come_byte_by_byte(broker: OurBroker) -> None:
    with connect(broker) as connection:
        for byte in encode_request(ApiVersionsRequest(), 0, 5, "slow"):
            connection.sendall(bytes([byte]))
        assert int.from_bytes(receive(connection)[:4]) == 5


def send_in_background(connection: socket.socket, data: bytes) -> threading.Thread:
    """Sends from a thread, which ends when everything is sent or the connection is closed."""

    def send() -> None:
        with contextlib.suppress(OSError):
            connection.sendall(data)

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    return thread


def commit_large_metadata(broker: OurBroker, group: str, topic: str, partitions: int) -> None:
    """Commits the largest metadata of an offset (offset.metadata.max.bytes) for every partition."""
    partition = OffsetCommitRequest.OffsetCommitRequestPartition
    committed = [partition(index, 1, committed_metadata="m" * 4096) for index in range(partitions)]
    topics = [OffsetCommitRequest.OffsetCommitRequestTopic(name=topic, partitions=committed)]
    with connect(broker) as connection:
        connection.sendall(encode_request(OffsetCommitRequest(group_id=group, topics=topics), 2, 1, "committer"))
        response, _ = decode(OffsetCommitResponse, 2, receive(connection), 4)
        assert {answer.error_code for answer in response.topics[0].partitions} == {0}


def test_a_client_that_does_not_read_is_not_read_from(broker: OurBroker) -> None:
    """With far more answers than a socket buffers, the broker stops reading, buffers none, and loses none."""
    count, partitions = 300, 100
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic("wide", partitions)])["wide"].result(PATIENCE_S)
    commit_large_metadata(broker, "deaf", "wide", partitions)
    topic = OffsetFetchRequest.OffsetFetchRequestTopic(name="wide", partition_indexes=list(range(partitions)))
    request = bytearray(encode_request(OffsetFetchRequest(group_id="deaf", topics=[topic]), 1, 0, "deaf"))
    requests = bytearray()
    for number in range(count):
        request[8:12] = number.to_bytes(4)
        requests += request
    before = resident_bytes(broker.pid)
    with connect(broker) as deaf:
        sender = send_in_background(deaf, bytes(requests))
        for _ in range(30):
            check_that_it_serves(broker)
        assert resident_bytes(broker.pid) - before < 50 * MEGABYTE
        with deaf.makefile("rb", buffering=MEGABYTE) as answers:
            for number in range(count):
                (size,) = SIZE.unpack(answers.read(4))
                answer = answers.read(size)
                assert int.from_bytes(answer[:4]) == number
        assert len(answer) * count > 100 * MEGABYTE
        sender.join()
    check_that_it_serves(broker)


def test_a_reader_of_large_fetches_that_does_not_read(broker: OurBroker) -> None:
    """Requests 1.2 GB of answers and reads two: an answer is made only after the previous one was sent."""
    value_bytes, values, fetches = 500_000, 60, 40
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for _ in range(values):
        producer.produce("large", random.Random(7).randbytes(value_bytes))
    assert producer.flush(PATIENCE_S) == 0
    fetch = FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=50 * MEGABYTE,
        topics=[
            FetchRequest.FetchTopic(
                topic="large",
                partitions=[FetchRequest.FetchPartition(partition=0, partition_max_bytes=50 * MEGABYTE)],
            )
        ],
    )
    before = resident_bytes(broker.pid)
    with connect(broker) as deaf:
        send_in_background(deaf, b"".join(encode_request(fetch, 11, number, "deaf") for number in range(fetches)))
        for _ in range(30):
            check_that_it_serves(broker)
        assert resident_bytes(broker.pid) - before < 50 * MEGABYTE
        for number in range(2):
            answer = receive(deaf)
            assert int.from_bytes(answer[:4]) == number
            response, _ = decode(FetchResponse, 11, answer, 4)
            records = response.responses[0].partitions[0].records
            assert records is not None
            assert len(records) > values * value_bytes
    # It has hung up with 38 answers open.
    check_that_it_serves(broker)
    assert resident_bytes(broker.pid) - before < 50 * MEGABYTE


def test_clients_that_vanish_while_they_wait(broker: OurBroker) -> None:
    """The client of a long poll resets its connection. The broker does not write to it and logs no error (see the
    fixture).
    """
    check_that_it_serves(broker)
    fetch = FetchRequest(
        max_wait_ms=300,
        min_bytes=MEGABYTE,
        max_bytes=MEGABYTE,
        topics=[
            FetchRequest.FetchTopic(
                topic="waited-for", partitions=[FetchRequest.FetchPartition(partition=0, partition_max_bytes=MEGABYTE)]
            )
        ],
    )
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce("waited-for", b"value")
    assert producer.flush(PATIENCE_S) == 0
    for _ in range(50):
        connection = connect(broker)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close() resets
        connection.sendall(encode_request(fetch, 11, 1, "gone"))
        connection.close()
    # A client that stays gets its answer at the end of its wait, when the waits of the others are over, too.
    with connect(broker) as connection:
        connection.sendall(encode_request(fetch, 11, 2, "stays"))
        assert int.from_bytes(receive(connection)[:4]) == 2
    check_that_it_serves(broker)
