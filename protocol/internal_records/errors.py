"""The refusal of what a newer Kafka may have written. Pure. Source: Kafka's UnknownRecordTypeException."""

from ..errors import ProtocolError


class UnknownRecordError(ProtocolError):
    """A record type, or a version of one, that Kafka 4.3.1 does not have."""
