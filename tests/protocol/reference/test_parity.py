"""The fast codec and the declared reference have equal bytes and equal refusals, for every message and version.

A failing case prints the seed that replays it: ``random_message(FetchRequest, 12, SEED)``.
"""

import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from odradek.protocol import codec
from odradek.protocol.apis import table
from odradek.protocol.codec import Message
from odradek.protocol.errors import ProtocolError
from odradek.protocol.messages.structure import Structure
from odradek.protocol.reference import wire
from support.data.messages import every_version, random_message, seed_of, version_id
from support.each import each

SEED = 20261121
INSTANCES, INSTANCES_CI, INSTANCES_LONG = 4, 24, 2000
CUT_INSTANCES = 3
"""The number of instances that are truncated: at every byte if short, at a sample of positions if long."""
CUTS = 40
MUTATIONS = 3
"""The number of mutations of each instance."""

REFUSED = "refused"


def verdict(way: Callable[[], Any]) -> Any:
    """The result, or REFUSED after a ProtocolError; any other exception fails the test."""
    try:
        return way()
    except ProtocolError:
        return REFUSED


def is_same(one: Any, other: Any) -> bool:
    """Equal, or not-a-number in the same places."""
    return bool(one == other) or repr(one) == repr(other)


def assert_same_decoding(cls: type[Message], version: int, data: bytes, replay: str) -> Any:
    fast = verdict(partial(codec.decode, cls, version, data))
    reference = verdict(partial(wire.decode, cls, version, data))
    if not is_same(fast, reference):  # a view of records has its own repr
        assert fast is not REFUSED, f"{replay}: only the fast codec refuses {data.hex()}"
        assert reference is not REFUSED, f"{replay}: only the reference refuses {data.hex()}"
        assert fast[1] == reference[1], replay
        assert codec.encode(fast[0], version) == codec.encode(reference[0], version), f"{replay}: {data.hex()}"
    return fast


def mutated(rng: random.Random, data: bytes) -> bytes:
    """The bytes with one byte changed, removed or inserted."""
    position = rng.randrange(len(data))
    other = rng.choice((0, 1, 2, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    length_changed = rng.choice((0, 0, -1, 1))
    kept = data[position:] if length_changed == 1 else data[position + 1 :]
    return data[:position] + (b"" if length_changed == -1 else bytes([other])) + kept


def check_parity(cls: type[Message], version: int, instances: int, run_seed: int) -> None:
    for instance in range(instances):
        seed = seed_of(run_seed, cls.NAME, version, instance)
        replay = f"random_message({cls.NAME}, {version}, {seed})"
        message = random_message(cls, version, seed)
        data = codec.encode(message, version)
        assert wire.encode(message, version) == data, replay
        assert wire.decode(cls, version, data) == codec.decode(cls, version, data) == (message, len(data)), replay
        rng = random.Random(seed)
        if instance < CUT_INSTANCES:
            lengths = range(len(data)) if len(data) <= CUTS else rng.sample(range(len(data)), CUTS)
            for length in lengths:
                cut = assert_same_decoding(cls, version, data[:length], f"{replay} cut to {length}")
                assert cut is REFUSED, f"{replay} cut to {length} bytes is taken"
        for _ in range(MUTATIONS if data else 0):
            assert_same_decoding(cls, version, mutated(rng, data), replay)


@each(("cls", "version"), every_version(), ids=version_id)
def test_fast_codec_and_reference_agree(cls: type[Message], version: int) -> None:
    check_parity(cls, version, INSTANCES, SEED)


@pytest.mark.nightly
@each(("cls", "version"), every_version(), ids=version_id)
def test_fast_codec_and_reference_agree_on_more(cls: type[Message], version: int) -> None:
    check_parity(cls, version, INSTANCES_CI, SEED)


@pytest.mark.long
@pytest.mark.parametrize(("cls", "version"), every_version(), ids=version_id)
def test_fast_codec_and_reference_agree_on_many(cls: type[Message], version: int) -> None:
    check_parity(cls, version, INSTANCES_LONG, SEED + 1)


# Messages that cannot be encoded


BREAKING: dict[str, tuple[Any, ...]] = {
    "string": (None, "x" * 0x8000, "é" * 0x4000, "\ud800"),
    "bytes": (None,),
    "records": (None,),
    "uuid": (b"", bytes(15), bytes(17)),
    **{kind: (low - 1, high + 1) for kind, (low, high) in table.INTEGER_RANGES.items()},
}


def structures_in(structure: Structure) -> Iterator[Structure]:
    """The structure and all structures inside it."""
    yield structure
    for name in structure.__slots__:
        value = getattr(structure, name)
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, Structure):
                yield from structures_in(inner)


BROKEN_TAGS = ([(5, b""), (5, b"")], [(9, b""), (8, b"")], [(0, b"x")], [(-1, b"")], [(1 << 32, b"")])


def break_one_field(rng: random.Random, message: Message) -> None:
    """Gives some field of the message a value that most versions cannot encode."""
    structure = rng.choice(list(structures_in(message)))
    specs = table.message(message.NAME).structures()[type(structure).__name__].fields
    if not specs or rng.random() < 0.1:
        setattr(structure, "unknown_tagged_fields", rng.choice(BROKEN_TAGS))  # noqa: B010  # all classes have it
        return
    spec = rng.choice(specs)
    broken = None if spec.is_array or spec.is_structure else rng.choice(BREAKING.get(spec.type, (None,)))
    if spec.type not in ("bool", "float64"):
        setattr(structure, spec.attribute, broken)


@each(("cls", "version"), every_version(), ids=version_id)
def test_both_refuse_to_write_the_same(cls: type[Message], version: int) -> None:
    check_refusals(cls, version, INSTANCES)


@pytest.mark.nightly
@each(("cls", "version"), every_version(), ids=version_id)
def test_both_refuse_to_write_more_of_the_same(cls: type[Message], version: int) -> None:
    check_refusals(cls, version, INSTANCES_CI)


def check_refusals(cls: type[Message], version: int, instances: int) -> None:
    first, last = cls.VERSIONS
    for instance in range(instances):
        seed = seed_of(SEED, "refusal", cls.NAME, version, instance)
        rng = random.Random(seed)
        of_version = rng.randint(first, last)  # its fields may not exist in `version`
        message = random_message(cls, of_version, seed)
        if rng.random() < 0.5:
            break_one_field(rng, message)
        fast = verdict(partial(codec.encode, message, version))
        reference = verdict(partial(wire.encode, message, version))
        assert fast == reference, f"random_message({cls.NAME}, {of_version}, {seed}) written as version {version}"


def test_refusals_are_met_and_so_are_encodings() -> None:
    """The test above would prove nothing if one of the outcomes never occurred."""
    met = {REFUSED: 0, "written": 0}
    for cls, version in every_version():
        message = random_message(cls, cls.VERSIONS[1], seed_of(SEED, cls.NAME))
        refused = verdict(partial(wire.encode, message, version)) is REFUSED
        met[REFUSED if refused else "written"] += 1
    assert min(met.values()) > 100, met


def test_dicts_are_written_as_the_classes_are() -> None:
    for cls, version in every_version():
        message = random_message(cls, version, seed_of(SEED, "dict", cls.NAME, version))
        assert wire.encode_as(cls, wire.as_dict(message), version) == codec.encode(message, version)


def test_a_dict_with_an_unknown_field_is_refused() -> None:
    cls, version = every_version()[0]
    with pytest.raises(ProtocolError, match="no field"):
        wire.encode_as(cls, {"nonsense": 1}, version)
