"""Entries that expire when they have not been used for a time of their own, at most so many of them. Pure.

Owns: the order of use. Never does: reading a clock, timers. Invariants: there are at most ``most`` entries; an entry
that has expired is never returned. Source: Kafka's ``LRUCache`` and the expiry of ``ClientMetricsManager``.
"""

from collections.abc import Iterator
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class ExpiringEntries(Generic[Key, Value]):
    """A bounded cache. Expired entries are removed when they are asked for, or by :meth:`sweep`."""

    def __init__(self, most: int) -> None:
        """``most``: beyond this number the entry that was used longest ago makes room."""
        self._most = most
        self._entries: dict[Key, tuple[Value, int]] = {}
        """Value and time of expiry in ms, in the order of use."""
        self._unswept: Iterator[Key] = iter(())

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Key, now_ms: int) -> Value | None:
        """The value of a key; None if there is none, or if it has expired."""
        found = self._entries.get(key)
        if found is None:
            return None
        if found[1] <= now_ms:
            del self._entries[key]
            return None
        return found[0]

    def put(self, key: Key, value: Value, expires_ms: int) -> None:
        """Adds or replaces an entry, and notes that it was used."""
        self._entries.pop(key, None)
        if len(self._entries) >= self._most:
            del self._entries[next(iter(self._entries))]
        self._entries[key] = value, expires_ms

    def pop(self, key: Key) -> Value | None:
        """Removes an entry. Returns its value, or None."""
        found = self._entries.pop(key, None)
        return None if found is None else found[0]

    def sweep(self, now_ms: int, most: int) -> list[Value]:
        """Looks at ``most`` further entries, in turn, and removes those that have expired. Returns their values."""
        expired: list[Value] = []
        for _ in range(min(most, len(self._entries))):
            key = next(self._unswept, None)
            if key is None:
                self._unswept = iter(list(self._entries))
                key = next(self._unswept)
            found = self._entries.get(key)
            if found is not None and found[1] <= now_ms:
                del self._entries[key]
                expired.append(found[0])
        return expired
