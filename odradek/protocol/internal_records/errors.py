"""The error for records that a newer Kafka may have written. Pure. Source: Kafka's UnknownRecordTypeException."""

from ..errors import ProtocolError


class UnknownRecordError(ProtocolError):
    """A record type, or a version of a record type, that Kafka 4.4.0 does not have."""
