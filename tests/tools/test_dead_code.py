"""Nothing in the package is unused, or used by tests only."""

from tools.dead_code import dead_code


def test_all_code_is_used() -> None:
    assert not dead_code(), "delete it, move it to the tests, or name its caller in tests/tools/dead_code.py"
