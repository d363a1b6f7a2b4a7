"""Many cases in one test: all of them run, and each that fails is named."""

from pathlib import Path

import pytest

from support.each import ONLY, SHOWN, each


def test_every_case_runs_and_those_that_fail_are_named(tmp_path: Path) -> None:
    seen: list[tuple[int, str]] = []

    @each(("number", "word"), [(1, "one"), (2, "two"), (3, "three")])
    def odd(number: int, word: str, tmp_path: Path) -> None:
        seen.append((number, word))
        assert number % 2, f"{tmp_path} has {number}"

    with pytest.raises(ExceptionGroup, match=r"^1 of 3 cases failed: 2-two") as group:
        odd(tmp_path=tmp_path)
    assert seen == [(1, "one"), (2, "two"), (3, "three")]
    (failed,) = group.value.exceptions
    assert failed.__notes__ == ["case 2-two"]
    assert str(tmp_path) in str(failed)


def test_one_case_runs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    monkeypatch.setenv(ONLY, "17")

    @each("seed", range(100))
    def note(seed: int) -> None:
        seen.append(seed)

    note()
    assert seen == [17]


def test_a_few_tracebacks_are_enough() -> None:
    def fail(seed: int) -> None:
        raise AssertionError(seed)

    with pytest.raises(ExceptionGroup, match=r"9 of 9 cases failed: 0, 1, .*, 8") as group:
        each("seed", range(9))(fail)()
    assert len(group.value.exceptions) == SHOWN


@each("seed", range(3))
def test_a_fixture_comes_beside_the_cases(seed: int, tmp_path: Path) -> None:
    assert tmp_path.is_dir()
    assert seed < 3
