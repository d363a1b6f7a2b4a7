"""Entries expire at their own times, and the one that was used longest ago makes room."""

from odradek.broker.timers.expiring import ExpiringEntries


def test_entries_expire_at_their_own_times() -> None:
    entries: ExpiringEntries[str, int] = ExpiringEntries(10)
    entries.put("a", 1, 100)
    entries.put("b", 2, 50)
    assert [entries.get(key, 49) for key in ("a", "b", "c")] == [1, 2, None]
    assert [entries.get(key, 50) for key in ("a", "b")] == [1, None]
    entries.put("a", 3, 200)
    assert entries.get("a", 100) == 3
    assert len(entries) == 1


def test_a_sweep_looks_at_all_in_turn() -> None:
    entries: ExpiringEntries[int, int] = ExpiringEntries(100)
    for number in range(10):
        entries.put(number, number, 100 if number % 2 else 200)
    assert entries.sweep(99, 100) == []
    expired = [value for _ in range(5) for value in entries.sweep(100, 3)]
    assert sorted(expired) == [1, 3, 5, 7, 9]
    assert len(entries) == 5
    assert ExpiringEntries[int, int](1).sweep(0, 5) == []


def test_the_one_used_longest_ago_makes_room() -> None:
    entries: ExpiringEntries[str, int] = ExpiringEntries(2)
    for key in ("a", "b", "a", "c"):
        entries.put(key, 0, 100)
    assert [key for key in "abc" if entries.get(key, 0) is not None] == ["a", "c"]
    assert entries.pop("a") == 0
    assert entries.pop("a") is None
