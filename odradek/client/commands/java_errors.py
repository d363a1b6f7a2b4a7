"""Formats errors as Kafka's tools do: Java class name and message. Pure. Source: Kafka's Errors."""

from odradek.protocol.errors import ErrorCode

PACKAGE = "org.apache.kafka.common.errors"
NAMED_OTHERWISE = {
    ErrorCode.UNKNOWN_SERVER_ERROR: "UnknownServerException",
    ErrorCode.CORRUPT_MESSAGE: "CorruptRecordException",
    ErrorCode.REQUEST_TIMED_OUT: "TimeoutException",
    ErrorCode.MESSAGE_TOO_LARGE: "RecordTooLargeException",
    ErrorCode.STALE_CONTROLLER_EPOCH: "ControllerMovedException",
    ErrorCode.NETWORK_EXCEPTION: "NetworkException",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "InvalidTopicException",
    ErrorCode.RECORD_LIST_TOO_LARGE: "RecordBatchTooLargeException",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "TopicAuthorizationException",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "GroupAuthorizationException",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "ClusterAuthorizationException",
    ErrorCode.TOPIC_ALREADY_EXISTS: "TopicExistsException",
    ErrorCode.INVALID_CONFIG: "InvalidConfigurationException",
    ErrorCode.NON_EMPTY_GROUP: "GroupNotEmptyException",
}
"""Error code -> Java class name, if the name cannot be derived from the code's name."""


def java_class(code: int) -> str:
    """The Java class of an error code: ``org.apache.kafka.common.errors.OffsetOutOfRangeException`` for 1."""
    error = known_code(code)
    name = NAMED_OTHERWISE.get(error)
    return f"{PACKAGE}.{name or ''.join(word.capitalize() for word in error.name.split('_')) + 'Exception'}"


def java_message(code: int, message: str | None) -> str:
    """The message of a response, or Kafka's default message for the code."""
    return message or known_code(code).message


def java_error(code: int, message: str | None) -> str:
    """The exception as Java prints it: class and message."""
    return f"{java_class(code)}: {java_message(code, message)}"


def known_code(code: int) -> ErrorCode:
    """The ErrorCode of a number; UNKNOWN_SERVER_ERROR if Kafka 4.3 does not have it."""
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR
