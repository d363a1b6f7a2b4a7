"""Maps the error of an append to the error in the response to the client of a coordinator.

Source: ``CoordinatorOperationExceptionHelper.handleOperationException``, ``TransactionStateManager`` (its append).
"""

from odradek.protocol.errors import ErrorCode

_TOLD: dict[ErrorCode, ErrorCode] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
}


def client_error(error: ErrorCode) -> ErrorCode:
    """Returns the error for the client of a coordinator if an append failed with ``error``."""
    return _TOLD.get(error, error)


def ends_coordination(error: ErrorCode) -> bool:
    """Whether a log that failed with ``error`` after an append can't be written by this coordinator any more.

    Too few in-sync replicas do not end it: the records stay in the log, and replicas may catch up.
    """
    return client_error(error) is not ErrorCode.COORDINATOR_NOT_AVAILABLE
