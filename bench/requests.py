"""`make bench-requests`: the processor time of a broker for one small request, by API and kind of load.

Compares checkouts in turn: this one, and others given with `--base`. Each broker runs as a process with the same
interpreter; the load is raw frames, so that the time of a client does not count. The least of the rounds is reported.
The row FLOOR is a protocol on uvloop that answers without reading: what the event loop and the kernel take of each row.
"""

import argparse
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brokers import SAME_KEYS, stop, wait_until_it_answers
from interpreters import describe
from odradek.protocol.codec import decoder
from odradek.protocol.codec.header import encode_request, response_header_version
from odradek.protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from odradek.protocol.messages.fetch import FetchRequest
from odradek.protocol.messages.groups import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    OffsetCommitRequest,
    SyncGroupRequest,
    SyncGroupResponse,
)
from odradek.protocol.messages.metadata import ApiVersionsRequest, MetadataRequest, MetadataResponse
from odradek.protocol.messages.offsets import ListOffsetsRequest
from odradek.protocol.messages.produce import ProduceRequest
from odradek.protocol.messages.quotas import AlterClientQuotasRequest, AlterClientQuotasResponse
from odradek.protocol.messages.topics import CreateTopicsRequest, CreateTopicsResponse
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record
from support.brokers.free_ports import free_port

ROOT = Path(__file__).parent.parent
CLIENT_ID = "odradek-bench"
GROUP = "bench"
CONSUMER_GROUP = "bench-consumers"


FLOOR = "a bare protocol on uvloop"
BARE_PROTOCOL = """
import asyncio, sys, uvloop


class Bare(asyncio.BufferedProtocol):
    buffer = bytearray(262144)

    def connection_made(self, transport):
        self.transport = transport

    def get_buffer(self, sizehint):
        return self.buffer

    def buffer_updated(self, nbytes):
        self.transport.write(ANSWER)


ANSWER = (71).to_bytes(4, "big") + bytes(71)


async def serve():
    server = await asyncio.get_running_loop().create_server(Bare, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


uvloop.run(serve())
"""
"""It gets one request at a time on each connection."""


@dataclass(slots=True, frozen=True)
class Row:
    """One kind of request. ``frames``: one for each connection. ``depth``: requests in flight on a connection."""

    name: str
    frames: Sequence[bytes]
    depth: int = 1
    requests: int = 20_000


def processor_ns(pid: int) -> int:
    """The time that all threads of a process have run, in ns, as the kernel's scheduler counts it."""
    return sum(int((task / "schedstat").read_text().split()[0]) for task in Path(f"/proc/{pid}/task").iterdir())


class Load:
    """Connections to one broker that send and receive in rounds."""

    def __init__(self, port: int, connections: int) -> None:
        self._port = port
        self.sockets = [self._connect() for _ in range(connections)]

    def _connect(self) -> socket.socket:
        connected = socket.create_connection(("127.0.0.1", self._port))
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connected

    def close(self) -> None:
        """Closes the connections."""
        for connected in self.sockets:
            connected.close()

    def ask(self, message: Any, version: int, response: type[Any]) -> Any:
        """One request on the first connection; its decoded answer."""
        self.sockets[0].sendall(encode_request(message, version, 1, CLIENT_ID))
        frame = _read(self.sockets[0])
        head = 8 + response_header_version(message.API_KEY, version)
        return decoder(response, version)(memoryview(frame), head)[0]

    def run(self, row: Row, requests: int) -> None:
        """Sends about ``requests`` requests. Each connection sends its next ones when it has its answers."""
        sockets, depth = self.sockets, row.depth
        frames = {one.fileno(): row.frames[at % len(row.frames)] * depth for at, one in enumerate(sockets)}
        by_descriptor = {one.fileno(): one for one in sockets}
        poll = select.epoll()
        left = {}
        for descriptor, connected in by_descriptor.items():
            poll.register(descriptor, select.EPOLLIN)
            left[descriptor] = max(1, requests // len(sockets) // depth)
            connected.sendall(frames[descriptor])
        missing = dict.fromkeys(by_descriptor, depth)
        held: dict[int, bytes] = dict.fromkeys(by_descriptor, b"")
        while left:
            for descriptor, _ in poll.poll():
                data = held[descriptor] + by_descriptor[descriptor].recv(1 << 20)
                position, size = 0, len(data)
                while size - position >= 4:
                    end = position + 4 + int.from_bytes(data[position : position + 4], "big")
                    if end > size:
                        break
                    position = end
                    missing[descriptor] -= 1
                held[descriptor] = data[position:]
                if missing[descriptor]:
                    continue
                left[descriptor] -= 1
                if left[descriptor]:
                    missing[descriptor] = depth
                    by_descriptor[descriptor].sendall(frames[descriptor])
                else:
                    del left[descriptor]
                    poll.unregister(descriptor)
        poll.close()


def _read(connected: socket.socket) -> bytes:
    data = b""
    while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
        got = connected.recv(1 << 20)
        assert got, "the broker has closed the connection"
        data += got
    return data


def batch(now_ms: int, count: int = 1) -> bytes:
    """A batch of records of 100 bytes."""
    return encode_batch([Record(at, now_ms, None, bytes(100), []) for at in range(count)])


def produce(topic: str, index: int, acks: int = 1, topic_id: bytes = bytes(16)) -> bytes:
    """A Produce of one record; by id if one is given."""
    records = batch(int(time.time() * 1000))
    data = ProduceRequest.PartitionProduceData(index, records)
    by_id = topic_id != bytes(16)
    topics = [ProduceRequest.TopicProduceData("" if by_id else topic, topic_id, [data])]
    return encode_request(
        ProduceRequest(transactional_id=None, acks=acks, timeout_ms=30_000, topic_data=topics),
        13 if by_id else 9,
        7,
        CLIENT_ID,
    )


def fetch(topic: str, topic_id: bytes, index: int, offset: int, version: int = 12) -> bytes:
    """A Fetch of one partition that is answered at once."""
    by_id = version >= 13
    wanted = FetchRequest.FetchPartition(index, 0, offset, partition_max_bytes=100)
    topics = [FetchRequest.FetchTopic("" if by_id else topic, topic_id if by_id else bytes(16), [wanted])]
    request = FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=100, session_epoch=-1, topics=topics)
    return encode_request(request, version, 7, CLIENT_ID)


def set_quotas(load: Load) -> None:
    """Gives every client quotas that it does not exceed, so that its requests are charged."""
    names = ("producer_byte_rate", "consumer_byte_rate", "request_percentage")
    quotas = [AlterClientQuotasRequest.OpData(name, 1e12) for name in names]
    entity = [AlterClientQuotasRequest.EntityData("client-id", None)]
    entry = AlterClientQuotasRequest.EntryData(entity, quotas)
    answer = load.ask(AlterClientQuotasRequest([entry]), 1, AlterClientQuotasResponse)
    assert not any(entry.error_code for entry in answer.entries), answer


def rows(load: Load, connections: int, partitions: int) -> Iterator[Row]:
    """The rows, after their topics and their group were made."""
    new = [CreateTopicsRequest.CreatableTopic(name, connections, 1) for name in ("written", "read")]
    load.ask(CreateTopicsRequest(new), 5, CreateTopicsResponse)
    named = [MetadataRequest.MetadataRequestTopic(name="read")]
    metadata: MetadataResponse = load.ask(MetadataRequest(named), 12, MetadataResponse)
    read_id = metadata.topics[0].topic_id
    written = [MetadataRequest.MetadataRequestTopic(name="written")]
    written_id = load.ask(MetadataRequest(written), 12, MetadataResponse).topics[0].topic_id
    each = range(connections)
    load.run(Row("fill", [produce("read", at) for at in each]), connections)
    yield Row("Produce, one record", [produce("written", at) for at in each])
    yield Row("Produce by topic id", [produce("written", at, topic_id=written_id) for at in each])
    yield Row("Produce, 32 in flight", [produce("written", at) for at in each], depth=32, requests=40_000)
    yield Row("Fetch at the end", [fetch("read", read_id, at, 1) for at in each])
    yield Row("Fetch of one batch", [fetch("read", read_id, at, 0) for at in each])
    asked = ListOffsetsRequest.ListOffsetsPartition
    listed = [
        ListOffsetsRequest(-1, 0, [ListOffsetsRequest.ListOffsetsTopic("read", [asked(at, 0, -1)])]) for at in each
    ]
    yield Row("ListOffsets, one partition", [encode_request(one, 7, 7, CLIENT_ID) for one in listed])
    member, generation = join(load)
    beat = HeartbeatRequest(GROUP, generation, member)
    yield Row("Heartbeat", [encode_request(beat, 4, 7, CLIENT_ID)])
    consumer_beat = ConsumerGroupHeartbeatRequest(CONSUMER_GROUP, "member", join_consumer_group(load))
    yield Row("ConsumerGroupHeartbeat", [encode_request(consumer_beat, 1, 7, CLIENT_ID)])
    offset = OffsetCommitRequest.OffsetCommitRequestPartition(0, 1, committed_leader_epoch=0, committed_metadata="")
    topics = [OffsetCommitRequest.OffsetCommitRequestTopic("read", partitions=[offset])]
    commit = OffsetCommitRequest(GROUP, generation, member, topics=topics)
    yield Row("OffsetCommit, one partition", [encode_request(commit, 8, 7, CLIENT_ID)])
    versions = ApiVersionsRequest("bench", "1")
    yield Row("ApiVersions", [encode_request(versions, 3, 7, CLIENT_ID)], requests=10_000)
    yield Row("Metadata, one topic", [encode_request(MetadataRequest(named), 12, 7, CLIENT_ID)])
    if partitions:
        for first in range(0, partitions, 1_000):
            many = [CreateTopicsRequest.CreatableTopic(f"many-{first + at}", 100, 1) for at in range(10)]
            created = load.ask(CreateTopicsRequest(many), 5, CreateTopicsResponse)
            assert not any(topic.error_code for topic in created.topics), created
        whole = encode_request(MetadataRequest(None), 12, 7, CLIENT_ID)
        yield Row(f"Metadata, all of {partitions} partitions", [whole], requests=connections * 4)


def join_consumer_group(load: Load) -> int:
    """The epoch of a member of a group of the new protocol that has all of its partitions (KIP-848)."""
    joining = ConsumerGroupHeartbeatRequest(CONSUMER_GROUP, "member", 0, rebalance_timeout_ms=300_000)
    joining.subscribed_topic_names, joining.topic_partitions = ["read"], []
    joined = load.ask(joining, 1, ConsumerGroupHeartbeatResponse)
    assert joined.error_code == 0, joined
    return int(joined.member_epoch)


def join(load: Load) -> tuple[str, int]:
    """A member of a classic group that stays without heartbeats for longer than the bench lasts."""
    protocol = JoinGroupRequest.JoinGroupRequestProtocol("range", b"")
    request = JoinGroupRequest(GROUP, 1_700_000, 1_700_000, "", protocol_type="consumer", protocols=[protocol])
    request.member_id = load.ask(request, 7, JoinGroupResponse).member_id
    joined = load.ask(request, 7, JoinGroupResponse)
    assert joined.error_code == 0, joined
    sync = SyncGroupRequest(GROUP, joined.generation_id, joined.member_id)
    load.ask(sync, 3, SyncGroupResponse)
    return joined.member_id, joined.generation_id


@contextmanager
def serving(checkout: Path, directory: Path, keys: Sequence[str]) -> Iterator[tuple[int, int]]:
    """A broker of a checkout as a process: its port and process id."""
    port = free_port()
    directory.mkdir()
    own = {**SAME_KEYS, "listeners": f"PLAINTEXT://127.0.0.1:{port}", "log.dirs": str(directory / "data")}
    own["group.max.session.timeout.ms"] = "1800000"
    own |= {f"group.consumer.{part}session.timeout.ms": "1800000" for part in ("", "max.")}  # a row may come that late
    overrides = [part for key, value in own.items() for part in ("--override", f"{key}={value}")]
    overrides += [part for key in keys for part in ("--override", key)]
    log = directory / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "odradek", "serve", *overrides],
            cwd=checkout,
            stdout=out,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )
        try:
            wait_until_it_answers(port, process, log)
            yield port, process.pid
        finally:
            stop(process)


@contextmanager
def bare_protocol() -> Iterator[tuple[int, int]]:
    """:data:`BARE_PROTOCOL` as a process: its port and process id."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-c", BARE_PROTOCOL, str(port)], stdin=subprocess.DEVNULL)
    try:
        wait_until_connected(port, process)
        yield port, process.pid
    finally:
        process.kill()
        process.wait()


def wait_until_connected(port: int, process: subprocess.Popen[bytes]) -> None:
    """Waits until something listens on a port. Raises AssertionError if the process ends instead."""
    while process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except ConnectionRefusedError:
            time.sleep(0.01)
    raise AssertionError(f"the process for port {port} ended with {process.returncode}")


def least_us(pid: int, load: Load, row: Row) -> float:
    """The processor time of one request of a row in us, after a tenth of the row to warm up."""
    load.run(row, max(len(load.sockets) * row.depth, row.requests // 10))
    before = processor_ns(pid)
    load.run(row, row.requests)
    return (processor_ns(pid) - before) / row.requests / 1000


def measure(
    checkouts: dict[str, Path],
    connections: int,
    rounds: int,
    partitions: int,
    keys: Sequence[str],
    only: str,
    has_quotas: bool,
) -> dict[str, dict[str, float]]:
    """The least processor time in us of each row and checkout. :data:`FLOOR` is measured between the rows."""
    least: dict[str, dict[str, float]] = {FLOOR: {"here": float("inf")}}
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="odradek-bench-")))
        begun: dict[str, tuple[int, Load]] = {}
        for name, checkout in checkouts.items():
            port, pid = stack.enter_context(serving(checkout, scratch / name, keys))
            load = Load(port, connections)
            stack.callback(load.close)
            begun[name] = pid, load
            if has_quotas:
                set_quotas(load)
        bare_port, bare_pid = stack.enter_context(bare_protocol())
        bare = Load(bare_port, connections)
        stack.callback(bare.close)
        floor = Row(FLOOR, [encode_request(ApiVersionsRequest(), 0, 7, CLIENT_ID)], requests=10_000)
        each = {name: list(rows(load, connections, partitions)) for name, (_, load) in begun.items()}
        for at in range(len(next(iter(each.values())))):
            for _ in range(rounds):
                for name, (pid, load) in begun.items():
                    row = each[name][at]
                    if only not in row.name:
                        continue
                    us = least_us(pid, load, row)
                    found = least.setdefault(row.name, {})
                    found[name] = min(us, found.get(name, us))
                if only in each["here"][at].name:
                    least[FLOOR]["here"] = min(least[FLOOR]["here"], least_us(bare_pid, bare, floor))
    return least


def main() -> int:
    """Prints a table of processor times and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, action="append", default=[], help="another checkout; may be repeated")
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--partitions", type=int, default=0, help="for the row Metadata of all; 0: without it")
    parser.add_argument("--key", action="append", default=[], help="a config KEY=VALUE of all brokers")
    parser.add_argument("--quotas", action="store_true", help="charge requests to quotas that none of them exceeds")
    parser.add_argument("--only", default="", help="only the rows whose name has this text")
    arguments = parser.parse_args()
    checkouts = {"here": ROOT} | {one.name: one.resolve() for one in arguments.base}
    print(describe(), flush=True)
    found = measure(
        checkouts,
        arguments.connections,
        arguments.rounds,
        arguments.partitions,
        arguments.key,
        arguments.only,
        arguments.quotas,
    )
    show: Callable[[float], str] = "{:8.1f}".format
    for row, times in found.items():
        ours = times["here"]
        # The bare protocol has one request at a time on a connection.
        above = "" if "in flight" in row else f"above the floor {show(ours - found[FLOOR]['here'])}"
        others = "".join(f"  {name} {show(us)}  ratio {ours / us:.2f}" for name, us in times.items() if name != "here")
        print(f"{row:34} {show(ours)} us  {above:24}{others}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
