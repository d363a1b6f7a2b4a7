"""Errors as Kafka's tools print them: the name of the Java class, with the message. Pure. Source: Kafka's Errors."""

from ...protocol.errors import ErrorCode

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
"""Classes whose names do not follow from the names of their codes."""


def java_class(code: int) -> str:
    """``org.apache.kafka.common.errors.OffsetOutOfRangeException`` for 1."""
    error = known_code(code)
    name = NAMED_OTHERWISE.get(error)
    return f"{PACKAGE}.{name or ''.join(word.capitalize() for word in error.name.split('_')) + 'Exception'}"


def java_message(code: int, message: str | None) -> str:
    """The message of an answer, or Kafka's own text for the code."""
    return message or known_code(code).message


def java_error(code: int, message: str | None) -> str:
    """The exception as Java prints it: class and message."""
    return f"{java_class(code)}: {java_message(code, message)}"


def known_code(code: int) -> ErrorCode:
    """The code; UNKNOWN_SERVER_ERROR for one that Kafka 4.3 does not have."""
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR
