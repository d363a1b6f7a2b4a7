"""What HTTP answers for an error of Kafka, of the client or of a view: one table.

Pure. Owns: status codes and the JSON of an error. Never does: logging.
"""

from odradek.client.errors import (
    AuthenticationError,
    BrokerConnectionError,
    ClientError,
    ClosedError,
    ConfigurationError,
    RequestTimedOutError,
    UnsupportedVersionError,
)
from odradek.protocol.errors import ErrorCode, KafkaError, ProtocolError

from ..arguments import ConsoleError

ABSENT = (
    "UNKNOWN_TOPIC_OR_PARTITION UNKNOWN_TOPIC_ID GROUP_ID_NOT_FOUND TRANSACTIONAL_ID_NOT_FOUND RESOURCE_NOT_FOUND "
    "UNKNOWN_MEMBER_ID LOG_DIR_NOT_FOUND OFFSET_OUT_OF_RANGE BROKER_ID_NOT_REGISTERED"
)
CONFLICTS = (
    "TOPIC_ALREADY_EXISTS NON_EMPTY_GROUP GROUP_SUBSCRIBED_TO_TOPIC REASSIGNMENT_IN_PROGRESS FENCED_INSTANCE_ID "
    "DUPLICATE_RESOURCE CONCURRENT_TRANSACTIONS ILLEGAL_GENERATION INVALID_PRODUCER_EPOCH"
)
REFUSED = (
    "POLICY_VIOLATION MESSAGE_TOO_LARGE RECORD_LIST_TOO_LARGE UNSUPPORTED_VERSION OFFSET_METADATA_TOO_LARGE "
    "TOPIC_DELETION_DISABLED SECURITY_DISABLED UNSUPPORTED_FOR_MESSAGE_FORMAT NO_REASSIGNMENT_IN_PROGRESS"
)
UNAUTHENTICATED, FORBIDDEN, NOT_FOUND, CONFLICT, BAD_REQUEST = 401, 403, 404, 409, 400
BAD_GATEWAY, UNAVAILABLE, TIMED_OUT = 502, 503, 504
STATUSES = {
    **dict.fromkeys(ABSENT.split(), NOT_FOUND),
    **dict.fromkeys(CONFLICTS.split(), CONFLICT),
    **dict.fromkeys(REFUSED.split(), BAD_REQUEST),
    "SASL_AUTHENTICATION_FAILED": UNAUTHENTICATED,
    "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED": FORBIDDEN,
    "REQUEST_TIMED_OUT": TIMED_OUT,
}
"""Kafka's name of an error -> status. :func:`status_of` has the rule for the others."""
CLIENT_STATUSES: tuple[tuple[type[ClientError], int, str], ...] = (
    (AuthenticationError, UNAUTHENTICATED, "AUTHENTICATION_FAILED"),
    (RequestTimedOutError, TIMED_OUT, "REQUEST_TIMED_OUT"),
    (UnsupportedVersionError, BAD_REQUEST, "UNSUPPORTED_VERSION"),
    (ConfigurationError, BAD_REQUEST, "CONFIGURATION"),
    (ClosedError, UNAUTHENTICATED, "SESSION_ENDED"),
    (BrokerConnectionError, UNAVAILABLE, "BROKER_NOT_AVAILABLE"),
    (ClientError, BAD_GATEWAY, "CLIENT_ERROR"),
)
"""The first class that fits."""
KNOWN_ERRORS = (ConsoleError, KafkaError, ClientError, ProtocolError)
"""The errors that are answered with their message. Any other is a fault of the console."""


def status_of(code: ErrorCode) -> int:
    """The status for an error code of Kafka."""
    known = STATUSES.get(code.name)
    if known is not None:
        return known
    if code.name.endswith("_AUTHORIZATION_FAILED"):
        return FORBIDDEN
    if code.retriable:
        return UNAVAILABLE
    return BAD_REQUEST if code.name.startswith("INVALID_") else BAD_GATEWAY


def shown_error(error: Exception) -> tuple[int, dict[str, str]]:
    """The status and the JSON of an error; without details if it is a fault of the console."""
    if isinstance(error, ConsoleError):
        return error.status, {"error": error.message, "code": error.code}
    if isinstance(error, KafkaError):
        return status_of(error.error_code), {"error": str(error.args[-1]), "code": error.error_code.name}
    if isinstance(error, ClientError):
        status, code = next((status, code) for kind, status, code in CLIENT_STATUSES if isinstance(error, kind))
        return status, {"error": str(error), "code": code}
    if isinstance(error, ProtocolError):
        return BAD_GATEWAY, {"error": f"the broker's answer could not be read: {error}", "code": "PROTOCOL_ERROR"}
    return 500, {"error": "this part of the console failed; the console's log says why", "code": "CONSOLE_FAULT"}
