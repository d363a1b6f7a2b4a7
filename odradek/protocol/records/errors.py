"""The errors of this package: each is a KafkaError with the error code that Apache Kafka answers in the same case.

Malformed bytes from outside raise one of these and nothing else.
"""

from ..errors import ErrorCode, KafkaError


class CorruptRecordError(KafkaError):
    """The bytes are not a batch: impossible length, unknown magic, wrong CRC (Kafka's CorruptRecordException)."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.CORRUPT_MESSAGE, message)


class UnknownMagicError(CorruptRecordError):
    """A magic above 2: bytes that are not a batch, or a batch of a later message format."""


class InvalidRecordError(KafkaError):
    """The batch is complete, but counts, offsets, sequence or records are invalid (Kafka's InvalidRecordException)."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.INVALID_RECORD, message)


class RecordTooLargeError(KafkaError):
    """The records, or the size that they claim, exceed the caller's limit (Kafka's RecordTooLargeException)."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.MESSAGE_TOO_LARGE, message)


class UnsupportedCompressionTypeError(KafkaError):
    """A compression type that the request's version does not allow, or that Kafka does not define."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, message)
