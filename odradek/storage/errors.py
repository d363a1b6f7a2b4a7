"""The errors of storage, besides those of the record format. Each has the error code that the client gets."""

from odradek.protocol.errors import ErrorCode, KafkaError


class StorageError(KafkaError):
    """The disk failed, or the log or its directory is unusable (KAFKA_STORAGE_ERROR).

    The operation had no effect and may be tried again, unless its docstring says otherwise.
    """

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.KAFKA_STORAGE_ERROR, message)


class UnsupportedBatchError(KafkaError):
    """A log has a whole batch with a correct checksum that this version can't read: its partition is not served, and
    its files stay as they are.
    """

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, message)


class OffsetOutOfRangeError(KafkaError):
    """An offset before the log's start or after its end."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.OFFSET_OUT_OF_RANGE, message)


class RecordListTooLargeError(KafkaError):
    """A batch larger than the maximum segment size (Kafka's RecordBatchTooLargeException)."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.RECORD_LIST_TOO_LARGE, message)


class RecordValidationError(KafkaError):
    """Single records of a batch break a rule; `record_errors` has (index in the batch, problem) for each."""

    def __init__(self, error_code: ErrorCode, message: str, record_errors: list[tuple[int, str]]) -> None:
        super().__init__(error_code, message)
        self.record_errors = record_errors


class CorruptIndexError(Exception):
    """An index file that is inconsistent in itself or with its log. It is rebuilt from the log."""


class CorruptSnapshotError(Exception):
    """A producer snapshot with a wrong version, length or CRC. It is removed, and an older one is used."""


class CorruptCheckpointError(Exception):
    """A checkpoint file, meta.properties or partition.metadata that can't be parsed. The text names the file."""


class DirectoryLockedError(Exception):
    """Another broker has the log directory open."""
