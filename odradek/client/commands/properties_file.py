"""Java's properties files, as the commands read them. Pure."""

from odradek.protocol.java.properties import parse_properties


def read_properties(text: str) -> dict[str, str]:
    """The keys and values. If a key occurs twice, the last value counts. Raises ValueError with the line number."""
    return {entry.key: entry.value for entry in parse_properties(text)}
