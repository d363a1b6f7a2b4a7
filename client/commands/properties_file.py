"""Java's properties files, as the commands read them. Pure."""

from ...protocol.properties import parse_properties


def read_properties(text: str) -> dict[str, str]:
    """The keys and values; of a key that is there twice, the last one. Raises ValueError, with the line."""
    return {entry.key: entry.value for entry in parse_properties(text)}
