"""What storage raises besides the errors of the record format: each with the code that a client is to be told."""

from ..protocol.errors import ErrorCode, KafkaError


class StorageError(KafkaError):
    """The disk refused: KAFKA_STORAGE_ERROR. What was asked for has not happened, and may be asked again."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.KAFKA_STORAGE_ERROR, message)


class OffsetOutOfRangeError(KafkaError):
    """An offset before the log's start or behind its end."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.OFFSET_OUT_OF_RANGE, message)


class RecordListTooLargeError(KafkaError):
    """A batch larger than a whole segment may be (Kafka's RecordBatchTooLargeException)."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.RECORD_LIST_TOO_LARGE, message)


class RecordValidationError(KafkaError):
    """Single records of a batch break a rule; `record_errors` has (index in the batch, what is wrong) for each."""

    def __init__(self, error_code: ErrorCode, message: str, record_errors: list[tuple[int, str]]) -> None:
        super().__init__(error_code, message)
        self.record_errors = record_errors


class CorruptIndexError(Exception):
    """An index file that contradicts itself or its log; it is rebuilt from the log."""


class CorruptSnapshotError(Exception):
    """A producer snapshot with a wrong version, length or CRC; it is removed and an older one used."""


class CorruptCheckpointError(Exception):
    """A checkpoint file, meta.properties or partition.metadata that can't be understood. The text names the file."""


class DirectoryLockedError(Exception):
    """Another broker has the log directory open."""
