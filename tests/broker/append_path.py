"""The broker's append path without sockets: frames are passed to the dispatcher, and a test can stop the disk.

Everything from the frame to the file is real: Dispatcher, handlers, Partition, Log, GroupCommit. Only the connection is
a substitute, which collects the answers.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

from odradek.broker.config.server_config import ServerConfig
from odradek.broker.coordinator.partition_log import ACKS_ALL, PartitionLog
from odradek.broker.dispatch.dispatch import Dispatcher
from odradek.broker.network.connection import Connection
from odradek.broker.replicas.group_commit import MOST_LOGS, GroupCommit
from odradek.broker.replicas.partition import Partition
from odradek.broker.replicas.partitions import Partitions
from odradek.broker.replicas.writer_threads import LARGE_APPEND_BYTES, WriterThreads
from odradek.broker.timers.loop_timers import LoopTimers
from odradek.broker.timers.slices import Slices, slice_clock_ms
from odradek.protocol.apis.api_keys import ApiKey, api
from odradek.protocol.codec import decoder
from odradek.protocol.codec.header import encode_request, response_header_version
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.headers import ResponseHeader
from odradek.protocol.messages.produce import ProduceRequest, ProduceResponse
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.files.files import Files
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig
from support.brokers.parts import ImageOnly, PartialBroker
from support.data.frames import as_received
from support.groups.harness import image_with_topics

NOW = 1_700_000_000_000
TOPIC = "t"


class GatedFiles(Files):
    """Syncs of files wait while ``gate`` is shut; ``syncs`` counts them; ``sync_error`` makes them fail."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.syncs = 0
        self.sync_error: OSError | None = None
        self.sync_threads: set[str] = set()

    def sync(self, descriptor: int) -> None:
        self.syncs += 1
        self.sync_threads.add(threading.current_thread().name)
        assert self.gate.wait(60), "the test has left the gate shut"
        if self.sync_error is not None:
            raise self.sync_error
        super().sync(descriptor)


class AppendPath:
    """A broker's partitions ``t-0``, ``t-1`` ... with the dispatcher before them. Use inside a running event loop."""

    def __init__(
        self,
        directory: Path,
        config: LogConfig,
        *,
        partitions: int = 1,
        files: Files | None = None,
        most_logs: int = MOST_LOGS,
        large_bytes: int = LARGE_APPEND_BYTES,
    ) -> None:
        """``large_bytes``: batches of at least this size are written on a thread."""
        self.directory = LogDirectory.open(directory, files)
        self.timers = LoopTimers(asyncio.get_running_loop())
        self.group_commit = GroupCommit([self.directory], self.timers, lambda: NOW, most_logs)
        self.partitions = Partitions()
        writers = WriterThreads(large_bytes)
        for index in range(partitions):
            log = self.directory.open_log(TOPIC, index, config, NOW, b"t" * 16)
            self.partitions.add(Partition(TOPIC, b"t" * 16, index, 0, partial(_same, log), self.group_commit, writers))
        self.broker = PartialBroker(
            config=ServerConfig.load(None, ["fetch.max.bytes=1048576"], {}),
            metadata=ImageOnly(image_with_topics({TOPIC: (b"t" * 16, partitions)})),
            partitions=self.partitions,
            timers=self.timers,
            slices=Slices(asyncio.get_running_loop().call_soon, slice_clock_ms),
        )
        self.dispatcher = Dispatcher(self.broker, self.timers.time_s, self.broker.config)

    def partition(self, index: int = 0) -> Partition:
        return self.partitions.get(TOPIC, index)

    def log(self, index: int = 0) -> Log:
        return self.partition(index).log

    def partition_log(self, index: int = 0) -> PartitionLog:
        return PartitionLog(self.partition(index), ACKS_ALL)

    def send(self, api_key: ApiKey, version: int, request: Any, *, owned: bool = True) -> "asyncio.Future[Any]":
        """Sends a request over a new connection. Returns the answer, None without one, or the error that refused it."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        frame = memoryview(bytearray(encode_request(request, version, 1, "test")[4:]))
        connection = cast("Connection", Caller(future, api_key, version))
        self.dispatcher.dispatch(connection, frame, owned)
        if not owned:
            frame[:] = b"\xee" * len(frame)  # overwritten, as a receive buffer is reused
        return future

    def produce(
        self, batches: dict[int, bytes], *, acks: int = -1, owned: bool = True
    ) -> "asyncio.Future[ProduceResponse | None]":
        """Produces a batch to each partition."""
        data = [ProduceRequest.PartitionProduceData(index, batch) for index, batch in batches.items()]
        topic = ProduceRequest.TopicProduceData(name=TOPIC, partition_data=data)
        return self.send(ApiKey.PRODUCE, 9, ProduceRequest(None, acks, 30_000, [topic]), owned=owned)

    def produce_received(
        self, batches: dict[int, bytes]
    ) -> "tuple[asyncio.Future[ProduceResponse | None], memoryview]":
        """Like :meth:`produce`, with a frame that arrives in pieces. Returns the frame, too."""
        data = [ProduceRequest.PartitionProduceData(index, batch) for index, batch in batches.items()]
        request = ProduceRequest(None, -1, 30_000, [ProduceRequest.TopicProduceData(name=TOPIC, partition_data=data)])
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        frame = as_received(encode_request(request, 9, 1, "test"))
        self.dispatcher.dispatch(cast("Connection", Caller(future, ApiKey.PRODUCE, 9)), frame, True)
        return future, frame

    async def close(self) -> None:
        self.timers.close()
        await self.group_commit.stop()
        self.directory.close(1)

    async def lose_power(self) -> None:
        """Ends the broker without further writes and syncs."""
        self.timers.close()
        await self.group_commit.stop()
        self.directory.abort()


def _same(log: Log) -> Log:
    return log


class Caller:
    """The part of a connection that the dispatcher uses."""

    client_host, client_port, listener_name, connection_id, last_used_ms = "127.0.0.1", 1, "PLAINTEXT", 1, 0
    principal = "User:ANONYMOUS"
    sent = 0
    is_closing = False

    def __init__(self, future: "asyncio.Future[Any]", api_key: ApiKey, version: int) -> None:
        self._future = future
        self._api_key = api_key
        self._version = version

    def answered(self, parts: "Sequence[Any] | None") -> None:
        if parts is None:
            self._future.set_result(None)
            return
        frame = b"".join(bytes(part) for part in parts)[4:]
        header_version = response_header_version(self._api_key, self._version)
        _, position = decoder(ResponseHeader, header_version)(frame, 0)
        self._future.set_result(decoder(api(self._api_key).response_class(), self._version)(frame, position)[0])

    def answered_in_pieces(self, parts: "Sequence[Any]") -> None:
        self.answered(parts)

    def run(self, steps: "Iterator[object]", failed: "Callable[[Exception], None]", request: object = None) -> None:
        try:
            for _ in steps:
                pass
        except KafkaError as error:
            failed(error)

    def refuse(self, reason: str) -> None:
        self._future.set_exception(ConnectionError(reason))


def batch(value: bytes = b"v", count: int = 1, **fields: Any) -> bytes:
    return encode_batch([Record(index, NOW + index, b"k", value, []) for index in range(count)], **fields)


def only(response: ProduceResponse | None) -> ProduceResponse.PartitionProduceResponse:
    """The answer for the one partition of a Produce request."""
    assert response is not None
    [topic] = response.responses
    [answer] = topic.partition_responses
    return answer


async def turns(count: int = 20) -> None:
    """Lets the event loop run everything that does not wait for the disk."""
    for _ in range(count):
        await asyncio.sleep(0)
