"""The order in which Java's ``HashMap`` walks through names: it decides when protocols get equal votes."""

from collections.abc import Iterable

from .partitioning import java_hash_code

_DEFAULT_CAPACITY = 16
_LOAD_FACTOR = 0.75


def in_hash_map_order(names: Iterable[str]) -> list[str]:
    """The names in the order of a ``HashMap`` into which they were put one after the other."""
    put = list(names)
    capacity = _DEFAULT_CAPACITY
    while len(put) > capacity * _LOAD_FACTOR:
        capacity *= 2

    def bucket(name: str) -> int:
        code = java_hash_code(name) & 0xFFFFFFFF
        return (code ^ code >> 16) & capacity - 1

    return sorted(put, key=bucket)
