"""The errors that the client itself raises; an error code from a broker is ``odradek.protocol.errors.KafkaError``.

Owns the client's exceptions only; no I/O. Every message names the failed action and what to check next, because new
users meet these errors first.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from odradek.protocol.errors import ErrorCode, KafkaError

from .types import OffsetAndMetadata, TopicPartition

Value = TypeVar("Value")


class ClientError(Exception):
    """Something failed on the client's side of the wire."""


class ConfigurationError(ClientError, ValueError):
    """An invalid constructor argument; the message names it and the allowed values."""


def one_of(name: str, value: str, allowed: Mapping[str, Value]) -> Value:
    """What ``allowed`` maps a configuration's value to. Raises ConfigurationError, which names the allowed values."""
    if value not in allowed:
        raise ConfigurationError(f"{name} is {value!r}; it can be {', '.join(allowed)}")
    return allowed[value]


class BrokerConnectionError(ClientError):
    """A connection could not be opened, or was closed while requests waited for their answers."""


class AuthenticationError(ClientError):
    """A broker refuses the client's login or certificate, or could not prove who it is.

    It is final: afterwards the client opens no connection, to avoid locking the account, and every call raises it.
    """


class NoBrokersAvailableError(BrokerConnectionError):
    """None of the bootstrap servers answered; the message has the reason for each."""


class RequestTimedOutError(ClientError):
    """A broker did not answer within ``request_timeout_ms``; the connection was closed."""


class UnsupportedVersionError(ClientError):
    """The broker serves no version of an API that this client could use for the request."""


class DeliveryTimeoutError(ClientError):
    """A record was not acknowledged within ``delivery_timeout_ms``. It may or may not be in the log."""


class BufferExhaustedError(ClientError):
    """No room for a record within ``max_block_ms``: ``buffer_memory`` is full of unacknowledged records."""


class NoOffsetForPartitionError(ClientError):
    """``auto_offset_reset`` is ``none`` and a partition has no committed or valid position."""


class LogTruncationError(ClientError):
    """The log lost records that the consumer had read (an unclean election); ``auto_offset_reset`` is ``none``."""

    def __init__(self, partition: TopicPartition, position: int, diverging: OffsetAndMetadata | None) -> None:
        where = "" if diverging is None else f"; the logs agree up to offset {diverging.offset}"
        super().__init__(f"the log of {partition} was truncated below the position {position}{where}; call seek()")
        self.partition = partition
        self.position = position
        self.diverging = diverging
        """The first offset known to differ, and the epoch before it; None when the broker does not know."""


class RetriableCommitError(ClientError):
    """An asynchronous commit failed with a retriable error. It is not retried, because the next commit covers it."""


class TransactionStateError(ClientError):
    """The call is not allowed in the state of the producer's transaction; the message names the next allowed call."""


class TransactionAbortedError(ClientError):
    """A record's delivery failed because its transaction was aborted."""


class TransactionTimeoutError(ClientError):
    """A call about a transaction got no final answer within ``max_block_ms``; repeat the same call to continue."""


class ClosedError(ClientError):
    """A client was called before its start or after its stop."""


class AdminError(KafkaError):
    """Some parts of an admin call failed.

    ``errors`` maps each part (topic, group, partition) to its error, ``results`` holds the parts that succeeded.
    ``error_code`` is that of the first failure.
    """

    def __init__(self, errors: Mapping[Any, KafkaError], results: Mapping[Any, Any]) -> None:
        first = next(iter(errors.values()))
        text = first.args[-1] if len(errors) == 1 else "; ".join(f"{part}: {error}" for part, error in errors.items())
        super().__init__(first.error_code, str(text))
        self.errors = dict(errors)
        self.results = dict(results)


def broker_error(code: int, what: str, message: str | None = None) -> KafkaError:
    """The KafkaError for a code that a broker answered; an unknown code becomes UNKNOWN_SERVER_ERROR."""
    try:
        error_code = ErrorCode(code)
    except ValueError:
        return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{what}: unknown error code {code}")
    return KafkaError(error_code, f"{what}: {message or error_code.message}")
