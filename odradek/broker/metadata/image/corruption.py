"""A metadata log that contradicts itself.

Pure. Owns: the error, and its text for the log. Never does: I/O. Invariant: a long record is cut. Source: ours; Kafka's
controllers stop in the same cases (FaultHandler).
"""

from odradek.protocol.messages.structure import Message

SHOWN_CHARACTERS = 300
"""The number of characters of a record that an error shows."""


class MetadataCorruption(Exception):  # noqa: N818 - named for the state, not for an error
    """A record of the metadata log contradicts those before it."""


def problem_of(record: Message, error: Exception) -> str:
    """The problem of a record that :func:`replay` refused, for the error that ends the start."""
    what = str(error) if isinstance(error, MetadataCorruption) else f"{type(error).__name__}: {error}"
    shown = repr(record)
    return f"{what}; the record is {shown[:SHOWN_CHARACTERS]}{'...' if len(shown) > SHOWN_CHARACTERS else ''}"
