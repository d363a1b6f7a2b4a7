"""Parsers of input from unknown clients get the inputs that a coverage-guided fuzzer has kept.

``faults/fuzz.py`` runs the fuzzer. ``fuzzed/<target>.hex`` has inputs that reached new code, one on each line, and
inputs that once failed. The tests use them and mutations of them. A failure prints the input.
"""

from pathlib import Path
from random import Random

import pytest

from faults import fuzz_targets
from faults.fuzz_targets import SEEDS, TARGETS
from odradek.protocol.security.oauthbearer import ClientInitial

MUTATIONS = 300
FUZZED = Path(__file__).parent / "fuzzed"


def inputs(name: str) -> list[bytes]:
    """The good inputs, and those that the fuzzer has kept."""
    return [*SEEDS[name], *(bytes.fromhex(line) for line in (FUZZED / f"{name}.hex").read_text().splitlines())]


@pytest.mark.parametrize("name", TARGETS)
def test_kept_inputs_and_their_mutations(name: str) -> None:
    random, known = Random(name), inputs(name)
    for data in known:
        TARGETS[name](data)
    for _ in range(MUTATIONS):
        mutated = bytearray(random.choice(known))
        for _ in range(random.randint(1, 4)):
            at = random.randrange(len(mutated) + 1)
            other = random.choice(known)
            start = random.randrange(len(other) + 1)
            instead = random.choice([random.randbytes(1), other[start : start + 8], b""])
            mutated[at : at + random.randint(0, 3)] = instead
        try:
            TARGETS[name](bytes(mutated))
        except Exception as error:
            raise AssertionError(f"TARGETS[{name!r}](bytes.fromhex({mutated.hex()!r}))") from error


def test_a_target_finds_a_message_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The targets can fail: here a decoder drops the authorization id after its first call."""
    found = iter([ClientInitial("a.b.c", "alice"), ClientInitial("a.b.c")])
    monkeypatch.setattr(fuzz_targets, "decode_client_initial", lambda data: next(found))
    with pytest.raises(AssertionError):
        TARGETS["bearer"](b"")
