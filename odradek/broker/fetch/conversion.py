"""Reads for clients from before record batches: Fetch 0 to 3, whose records are messages of format 0 or 1.

Owns: one pass over the partitions of such a request. Never does: converting on the event loop
(:mod:`..replicas.record_work` has a thread), converting more than one answer needs (plus at most a batch). Invariants:
the first batch with records is returned whole; control batches, which these formats don't have, are skipped, so that a
consumer whose next record is one can proceed; one partition is converted at a time. Source: Kafka 3.9's
KafkaApis.maybeConvertFetchedData and LazyDownConversionRecords (KIP-283).
"""

from collections import deque
from collections.abc import Callable, Iterable

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.records.compression import CompressionType, compression_name
from odradek.protocol.records.down_conversion import ConvertedRecords, down_convert
from odradek.protocol.records.errors import UnsupportedCompressionTypeError
from odradek.storage.log.log import Log
from odradek.storage.log.read_result import FileRegion

from ..replicas.partitions import Partitions
from ..replicas.record_work import RecordWork
from .partition_read import NO_RECORDS, FetchLimits, PartitionRead, read_partition, refused_read
from .read import FetchRead
from .session import SessionPartition

CONVERTED_AT_ONCE_BYTES = 1 << 20
"""The maximum of stored bytes of one partition that are converted for one answer. Such clients request this by
default.
"""

READS_A_TURN = 64
"""Partitions without records that are read in one turn of the event loop."""


class ConvertedRead:
    """One pass over the partitions that an old client asks for; ``then`` is called once, later, with the result."""

    def __init__(
        self,
        partitions: Partitions,
        wanted: Iterable[SessionPartition],
        limits: FetchLimits,
        magic: int,
        record_work: RecordWork,
        owner: object,
        is_wanted: Callable[[], bool],
        then: Callable[[FetchRead], None],
    ) -> None:
        """``magic``: the format of the messages; ``owner``, ``is_wanted``: as for :meth:`RecordWork.run`."""
        self._partitions = partitions
        self._wanted = deque(wanted)
        self._limits = limits
        self._magic = magic
        self._record_work = record_work
        self._owner = owner
        self._is_wanted = is_wanted
        self._then = then
        self._read = FetchRead([], 0, False)

    def begin(self) -> None:
        """Reads until it finds records to convert, or has read all partitions."""
        for _ in range(READS_A_TURN):
            if not self._wanted:
                self._then(self._read)
                return
            want = self._wanted.popleft()
            try:
                read = read_partition(self._partitions, want, self._limits, self._left, self._read.total_bytes == 0)
                log = _convertible(read)
            except KafkaError as error:
                self._add(refused_read(self._partitions, want, error, self._limits))
                continue
            if log is None:
                self._add(read)
            else:
                self._convert(read, log, want.fetch_offset)
                return
        # Other work gets a turn.
        self._record_work.run(self._owner, _pause(), lambda _: self.begin(), self._is_wanted)

    @property
    def _left(self) -> int:
        return max(0, self._limits.max_bytes - self._read.total_bytes)

    def _add(self, read: PartitionRead) -> None:
        self._read.add(read)

    def _convert(self, read: PartitionRead, log: Log, offset: int) -> None:
        """Converts the records read from ``offset`` on, on the thread."""
        data = read.data.records
        assert data is not None, "records were read"
        read.data.records = NO_RECORDS
        steps = converted(data, self._magic, read.wanted.fetch_offset, self._limit(read))
        self._record_work.run(
            self._owner, steps, lambda result: self._converted(read, log, offset, data, result), self._is_wanted
        )

    def _limit(self, read: PartitionRead) -> int:
        return min(read.wanted.max_bytes, self._left, CONVERTED_AT_ONCE_BYTES)

    def _converted(
        self,
        read: PartitionRead,
        log: Log,
        offset: int,
        source: bytes | FileRegion,
        result: ConvertedRecords | KafkaError,
    ) -> None:
        """Adds the converted records. If all batches were control batches, reads on after them."""
        if isinstance(source, FileRegion):
            source.close()  # here, not on the thread: holders of a descriptor are counted on one thread only
        try:
            if isinstance(result, KafkaError):
                raise result
            read.data.records = result.data
            bound = read.data.high_watermark
            if not result.data and offset < result.next_offset < bound:
                further = log.read(
                    result.next_offset,
                    self._limit(read),
                    upper_bound_offset=bound,
                    min_one_batch=self._read.total_bytes == 0,
                ).data
                if len(further):
                    read.data.records = further
                    self._convert(read, log, result.next_offset)
                    return
        except KafkaError as error:
            read = refused_read(self._partitions, read.wanted, error, self._limits)
        self._add(read)
        self.begin()


def _pause() -> Steps[None]:
    yield


def _convertible(read: PartitionRead) -> Log | None:
    """The log whose records were read; None without records. Raises UnsupportedCompressionTypeError for a zstd
    topic.
    """
    if not read.records_bytes or read.partition is None:
        return None
    log = read.partition.log
    if log.config.compression_type == compression_name(CompressionType.ZSTD):
        read.close()
        raise UnsupportedCompressionTypeError("the topic's compression.type is zstd, which the client does not know")
    return log


def converted(data: bytes | FileRegion, magic: int, fetch_offset: int, limit: int) -> Steps[ConvertedRecords]:
    """Converts the batches in ``data`` to messages of format ``magic``. Reads a region of a file first, and does not
    close it.

    Raises KafkaError as ``down_convert``; KAFKA_STORAGE_ERROR if the file can't be read.
    """
    try:
        batches = data.read() if isinstance(data, FileRegion) else data
    except OSError as error:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from error
    yield
    return (yield from down_convert(batches, magic, fetch_offset, limit))
