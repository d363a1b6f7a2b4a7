"""The size of a life of :mod:`.loading_fuzz`, its time, and the line that replays it."""

RECORDS_PER_LIFE = 250
STARTS = 0.25
"""The share of lives that are also started."""
NOW_MS = 1_700_000_000_000


def failure(kind: str, seed: int, life: int, error: Exception) -> str:
    """The failure, and the line that replays it."""
    line = f"(cd tests && python -m faults.loading_fuzz {kind} {seed} {life})"
    return f"{type(error).__name__}: {error}; to replay: {line}"
