"""Measures how long the other clients of a broker wait while it serves heavy requests (Linux).

    with Neighbour(broker.port, broker.pid) as neighbour:
        ...                                    # the heavy requests
    assert neighbour.seen.longest_cpu_ms < 50  # independent of other processes of the machine

A separate process sends ApiVersions and the heartbeat of a classic group's member, alternately, one every 5 ms, each on
its own connection. It measures two times for every request: the wait by the clock, which other processes of the machine
lengthen, and the processor time of the broker's event loop between request and answer, which they do not. Samples that
were not taken because of a long wait are added, as HdrHistogram does (coordinated omission).
"""

import itertools
import json
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from odradek.broker.coordinator.partitioning import partition_for
from odradek.protocol.codec import decode
from odradek.protocol.codec.header import encode_request, response_header_version
from odradek.protocol.messages import message_class
from odradek.protocol.messages.groups import HeartbeatRequest, JoinGroupRequest, SyncGroupRequest
from odradek.protocol.messages.metadata import ApiVersionsRequest
from odradek.protocol.messages.structure import Message
from support.brokers.our_broker import resident_bytes
from support.brokers.peak_memory import peak_resident_bytes
from support.eventually import eventually

INTERVAL_S = 0.005
OFFSETS_TOPIC_PARTITIONS = 50
PATIENCE_S = 120.0
HIGHEST_PRIORITY = -20
SESSION_MS = 6_000
TESTS = Path(__file__).parent.parent.parent


@dataclass(frozen=True)
class Seen:
    """The neighbour's measurements. Times in ms. ``memory_growth``: the peak above the first value, in bytes."""

    asked: int
    longest_ms: float
    p999_ms: float
    longest_cpu_ms: float
    longest_heartbeat_ms: float
    refused_heartbeats: int
    memory_growth: int

    def __str__(self) -> str:
        return (
            f"others waited {self.longest_ms:.0f} ms (p99.9 {self.p999_ms:.0f} ms, {self.longest_cpu_ms:.0f} ms "
            f"of the loop's processor time), memory +{self.memory_growth / 1e6:.0f} MB, {self.asked} asked"
        )


class Neighbour:
    """The measuring process, started by ``with``. :attr:`seen` has the result after the block."""

    def __init__(self, port: int, pid: int) -> None:
        self._command = [sys.executable, "-m", "support.brokers.neighbour", str(port), str(pid)]
        self._process: subprocess.Popen[str] | None = None
        self._seen: Seen | None = None

    @property
    def seen(self) -> Seen:
        """The measurements up to the end of the block."""
        assert self._seen is not None, "the neighbour is still asking"
        return self._seen

    def __enter__(self) -> Self:
        environment = {**os.environ, "PYTHONPATH": str(TESTS)}
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "asking\n", "the neighbour could not begin"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        told, _ = self._process.communicate()  # the process exits at the end of its input
        assert self._process.returncode == 0, "the neighbour failed; its traceback is on stderr"
        self._seen = Seen(**json.loads(told))


class Line:
    """One connection that sends one request at a time."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def exchange(self, frame: bytes) -> bytes:
        """Sends a frame; returns the answer without its size."""
        self._socket.sendall(frame)
        size = int.from_bytes(self._exactly(4))
        return self._exactly(size)

    def ask(self, request: Message, version: int) -> Any:
        """Sends a request; returns its response."""
        answer = self.exchange(encode_request(request, version, 7, "neighbour"))
        response_class = message_class(request.NAME.replace("Request", "Response"))
        return decode(response_class, version, answer, 4 + response_header_version(request.API_KEY, version))[0]

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            received = self._socket.recv(size - len(data))
            if not received:
                raise ConnectionError("the broker closed the neighbour's connection")
            data += received
        return data


class Member:
    """A member of a classic group of its own, with a session of 6 s."""

    def __init__(self, port: int) -> None:
        self._line = Line(port)
        names = (f"neighbour-{os.getpid()}-{number}" for number in itertools.count())
        # The coordinator loads partition 0 first, so it answers heartbeats while it loads the other partitions.
        self._group_id = next(name for name in names if partition_for(name, OFFSETS_TOPIC_PARTITIONS) == 0)
        self._member_id = ""
        self._generation_id = -1

    def join(self) -> None:
        """Joins, and assigns itself no partition."""
        protocol = JoinGroupRequest.JoinGroupRequestProtocol("range", b"")

        def is_joined() -> bool:
            joined = self._line.ask(
                JoinGroupRequest(self._group_id, SESSION_MS, SESSION_MS, self._member_id, None, "consumer", [protocol]),
                5,
            )
            self._member_id, self._generation_id = joined.member_id, joined.generation_id
            return not joined.error_code

        eventually("the neighbour is a member", is_joined, patience_s=PATIENCE_S)
        assignment = SyncGroupRequest.SyncGroupRequestAssignment(self._member_id, b"")
        request = SyncGroupRequest(self._group_id, self._generation_id, self._member_id, None, None, None, [assignment])
        assert self._line.ask(request, 3).error_code == 0

    def heartbeat(self) -> int:
        """Sends a heartbeat; returns the error code."""
        request = HeartbeatRequest(self._group_id, self._generation_id, self._member_id)
        return int(self._line.ask(request, 3).error_code)


def loop_cpu_ns(pid: int) -> int:
    """The processor time so far of a process's main thread, which runs its event loop, in ns."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0])


def percentile(waits_ms: list[float], share: float) -> float:
    """A percentile of the waits. A long wait also counts for the requests that were due during it."""
    all_waits = []
    for wait in waits_ms:
        all_waits.append(wait)
        missed = wait - INTERVAL_S * 1000
        while missed > INTERVAL_S * 1000:
            all_waits.append(missed)
            missed -= INTERVAL_S * 1000
    return sorted(all_waits)[min(len(all_waits) - 1, int(len(all_waits) * share))]


def observe(port: int, pid: int, stop: threading.Event) -> Seen:
    """Sends requests until it must stop."""
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, HIGHEST_PRIORITY)
    line, member = Line(port), Member(port)
    frame = encode_request(ApiVersionsRequest(), 0, 7, "neighbour")
    line.exchange(frame)
    member.join()
    member.heartbeat()
    before = resident_bytes(pid)
    Path(f"/proc/{pid}/clear_refs").write_text("5")  # resets VmHWM
    print("asking", flush=True)
    waits_ms: list[float] = []
    longest_cpu_ms = longest_heartbeat_ms = 0.0
    refused = 0
    while not stop.wait(INTERVAL_S):
        cpu_ns, began = loop_cpu_ns(pid), time.perf_counter()
        if len(waits_ms) % 2:
            refused += member.heartbeat() != 0
            waited_ms = (time.perf_counter() - began) * 1000
            longest_heartbeat_ms = max(longest_heartbeat_ms, waited_ms)
        else:
            line.exchange(frame)
            waited_ms = (time.perf_counter() - began) * 1000
        longest_cpu_ms = max(longest_cpu_ms, (loop_cpu_ns(pid) - cpu_ns) / 1e6)
        waits_ms.append(waited_ms)
    return Seen(
        asked=len(waits_ms),
        longest_ms=max(waits_ms, default=0.0),
        p999_ms=percentile(waits_ms, 0.999) if waits_ms else 0.0,
        longest_cpu_ms=longest_cpu_ms,
        longest_heartbeat_ms=longest_heartbeat_ms,
        refused_heartbeats=refused,
        memory_growth=peak_resident_bytes(pid) - before,
    )


def main() -> None:
    """The measuring process. It runs until its standard input ends."""
    stop = threading.Event()

    def wait_for_end() -> None:
        sys.stdin.read()
        stop.set()

    threading.Thread(target=wait_for_end, daemon=True).start()
    print(json.dumps(asdict(observe(int(sys.argv[1]), int(sys.argv[2]), stop))))


if __name__ == "__main__":
    main()
