"""Random JAAS texts: Kafka's own class parses or refuses each as ours does."""

import random

import pytest

from odradek.protocol.security.jaas import JaasError, JaasModule, parse_module
from support.kafka.java_program import JavaProgram

pytestmark = pytest.mark.java

PIECES = [
    "a.B",
    "required",
    "OPTIONAL",
    " ",
    " ",
    " ",
    "=",
    "=",
    ";",
    ";",
    '"',
    '"x"',
    "'y z'",
    "k",
    "user_a",
    "-",
    "-1",
]
PIECES += [
    ".5",
    "7",
    "/",
    "//",
    "/*",
    "*/",
    "\n",
    "\\",
    "\\n",
    "\\101",
    "\u00fc",
    "\u20ac",
    "{",
    ",",
    "#",
    "$v",
    "1a",
    "w-1.x",
]
SEEDS = range(20_000)


class JaasOracle(JavaProgram):
    """Parses texts with Kafka's class; None for refused ones."""

    NAME = "JaasOracle"


def random_text(seed: int) -> str:
    chance = random.Random(seed)
    options = " ".join(
        f"{chance.choice(['k', 'user_a', '$v'])}={chance.choice(PIECES)}" for _ in range(chance.randint(0, 3))
    )
    text = f"a.B {chance.choice(['required', 'Optional', 'needed'])} {options};"
    for _ in range(chance.choice([0, 1, 1, 2, 4])):
        place = chance.randrange(len(text) + 1)
        text = text[:place] + chance.choice(PIECES) + text[place + chance.choice([0, 0, 1]) :]
    return text


def read_by_ours(text: str) -> JaasModule | str:
    """The parsed module, or the error."""
    try:
        return parse_module(text)
    except JaasError as refused:
        return str(refused)


def test_random_texts() -> None:
    """The only difference: ours refuses an option whose name is not a word, which Kafka accepts without a name."""
    texts = [random_text(seed) for seed in SEEDS]
    with JaasOracle() as oracle:
        answers = oracle.order(texts)
    read = 0
    for seed, text in enumerate(texts):
        theirs = answers[str(seed)]
        module = read_by_ours(text)
        if isinstance(module, str):
            assert theirs is None or "name=value" in module, f"seed {seed}: {text!r}: {module}"
        else:
            read += 1
            assert theirs is not None, f"seed {seed}: {text!r}"
            assert module.name == theirs["name"], f"seed {seed}: {text!r}"
            assert theirs["flag"].lower().endswith(module.flag.lower()), f"seed {seed}: {text!r}"
            assert dict(module.options) == theirs["options"], f"seed {seed}: {text!r}"
    assert read > len(texts) // 20
