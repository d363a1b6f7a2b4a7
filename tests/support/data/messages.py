"""Random messages from a seed, for every message and version of the table, and their form in Kafka's JSON.

    generator = MessageGenerator(random.Random(seed))
    message = generator.message(FetchRequest, 12)

The values are those that are likely to break codecs: limits of integers, null in every nullable field, empty and long
strings with characters of one to four bytes, arrays of zero, one and many elements, unknown tagged fields between known
ones.
Fields that the version does not have keep their default, so that the decoded message equals the encoded one.
"""

import base64
import random
import zlib
from typing import Any

from odradek.protocol.codec import Message
from odradek.protocol.messages import message_class
from odradek.protocol.messages.structure import Structure
from odradek.protocol.apis.table import INTEGER_RANGES, FieldSpec, MessageSpec, StructureSpec, message, messages

ALPHABETS = ("abcdefghijklmnopqrstuvwxyz.-_0123456789", "äöüßéñΩж", "漢字カ한", "😀🦊🏀")
UNKNOWN_TAGGED_FIELDS = "unknown_tagged_fields"
FLOATS = (0.0, 1.0, -1.0, 0.1, 1e300, -1e-300, 5e-324, 1.7976931348623157e308)


def every_version() -> list[tuple[type[Message], int]]:
    """Each (class, version) of the table."""
    return [(message_class(spec.name), version) for spec in messages() for version in spec.versions]


def version_id(value: object) -> str:
    """The id of a test's parameter: the message's name, or the version."""
    return str(getattr(value, "NAME", value))


def seed_of(*parts: object) -> int:
    """The seed of a case. Each case has its own, so that it can be replayed alone."""
    return zlib.crc32(" ".join(map(str, parts)).encode())


def random_message(cls: type[Message], version: int, seed: int, *, unknown_tags: bool = True) -> Message:
    """The message of this seed."""
    return MessageGenerator(random.Random(seed), unknown_tags=unknown_tags).message(cls, version)


class MessageGenerator:
    """Makes messages from a source of randomness; the same seed makes the same messages."""

    def __init__(self, rng: random.Random, *, unknown_tags: bool = True) -> None:
        """``unknown_tags`` False: without tagged fields that the table does not define (Kafka's JSON has none)."""
        self._rng = rng
        self._unknown_tags = unknown_tags

    def message(self, cls: type[Message], version: int) -> Message:
        """A random message of a version."""
        spec = message(cls.NAME)
        made = self._structure(spec, cls, cls, spec.layout(version).structures[spec.name], version, 0)
        assert isinstance(made, Message)
        return made

    def _structure(
        self,
        spec: MessageSpec,
        message_cls: type[Message],
        cls: type[Structure],
        structure: StructureSpec,
        version: int,
        depth: int,
    ) -> Structure:
        made = cls()
        for field in structure.fields:
            if version not in field.versions:
                continue
            if field.is_tagged(version) and self._rng.random() < 0.4:
                continue  # the default
            setattr(made, field.attribute, self._value(spec, message_cls, field, version, depth))
        if self._unknown_tags and spec.is_flexible(version) and self._rng.random() < 0.2:
            defined = [field.tag for field in structure.fields if field.tag is not None]
            setattr(made, UNKNOWN_TAGGED_FIELDS, self._tagged_fields(defined))
        return made

    def _value(self, spec: MessageSpec, message_cls: type[Message], field: FieldSpec, version: int, depth: int) -> Any:
        if field.is_nullable(version) and self._rng.random() < 0.25:
            return None
        if not field.is_array:
            return self._element(spec, message_cls, field, version, depth)
        count = self._rng.choice((0, 1, 1, 2, 3) if depth < 2 else (0, 1, 1, 2))
        if not field.is_structure and self._rng.random() < 0.1:
            count = self._rng.choice((15, 16, 17, 130))
        elements = [self._element(spec, message_cls, field, version, depth) for _ in range(count)]
        return _with_unique_keys(spec, field, version, elements)

    def _element(
        self, spec: MessageSpec, message_cls: type[Message], field: FieldSpec, version: int, depth: int
    ) -> Any:
        kind = field.element
        if not field.is_structure:
            return self._primitive(kind)
        structure = spec.layout(version).structures[kind]
        if field.is_tagged(version) and self._rng.random() < 0.2:
            return getattr(
                message_cls, kind
            )()  # a structure of defaults, which may differ from the field's own default
        return self._structure(spec, message_cls, getattr(message_cls, kind), structure, version, depth + 1)

    def _primitive(self, kind: str) -> Any:
        rng = self._rng
        if kind in INTEGER_RANGES:
            return self._integer(*INTEGER_RANGES[kind])
        if kind == "bool":
            return rng.random() < 0.5
        if kind == "float64":
            return rng.choice((*FLOATS, rng.uniform(-1e9, 1e9)))
        if kind == "string":
            return self._string()
        if kind == "uuid":
            return rng.choice((bytes(16), b"\xff" * 16, rng.randbytes(16), rng.randbytes(16)))
        return rng.randbytes(self._length())

    def _integer(self, lowest: int, highest: int) -> int:
        rng = self._rng
        if rng.random() < 0.5:
            return rng.choice((lowest, lowest + 1, highest, highest - 1, *(n for n in (-1, 0, 1) if n >= lowest)))
        return rng.randint(lowest, highest)

    def _length(self) -> int:
        """Mostly short; sometimes a length that takes one byte more to encode."""
        if self._rng.random() < 0.05:
            return self._rng.choice((126, 127, 128, 129, 300))
        return self._rng.choice((0, 1, 2, 5, 11))

    def _string(self) -> str:
        alphabet = self._rng.choice(ALPHABETS) if self._rng.random() < 0.3 else ALPHABETS[0]
        return "".join(self._rng.choices(alphabet, k=self._length()))

    def _tagged_fields(self, defined: list[int]) -> list[tuple[int, bytes]]:
        tags = {self._rng.choice((0, 1, 3, 7, 100, 127, 128, 16384, 1 << 20)) for _ in range(self._rng.randint(1, 3))}
        return [(tag, self._rng.randbytes(self._length())) for tag in sorted(tags - set(defined))] or [(77, b"x")]


def _with_unique_keys(spec: MessageSpec, field: FieldSpec, version: int, elements: list[Any]) -> list[Any]:
    """Keeps only the first of the elements with equal map keys: Kafka's classes store such arrays as sets."""
    if not field.is_structure:
        return elements
    structure = spec.layout(version).structures[field.element]
    keys = [f.attribute for f in structure.fields if f.map_key and version in f.versions]
    if not keys:
        return elements
    unique: dict[tuple[Any, ...], Any] = {}
    for element in elements:
        unique.setdefault(tuple(getattr(element, key) for key in keys), element)
    return list(unique.values())


def to_json(made: Message, version: int) -> dict[str, Any]:
    """The message as Kafka's ``JsonConverter`` classes write and read it; without unknown tagged fields."""
    spec = message(made.NAME)
    return _structure_to_json(spec, spec.layout(version).structures[spec.name], made, version)


def _structure_to_json(spec: MessageSpec, structure: StructureSpec, made: Structure, version: int) -> dict[str, Any]:
    json = {}
    for field in structure.fields:
        if version not in field.versions:
            continue
        value = getattr(made, field.attribute)
        if field.is_tagged(version) and value == field.default:
            continue
        json[field.name[0].lower() + field.name[1:]] = _to_json(spec, field, value, version)
    return json


def _to_json(spec: MessageSpec, field: FieldSpec, value: Any, version: int) -> Any:
    if value is None:
        return None
    if field.is_array:
        return [_element_to_json(spec, field, element, version) for element in value]
    return _element_to_json(spec, field, value, version)


def _element_to_json(spec: MessageSpec, field: FieldSpec, value: Any, version: int) -> Any:
    if field.is_structure:
        return _structure_to_json(spec, spec.layout(version).structures[field.element], value, version)
    if field.element == "uuid":
        return base64.urlsafe_b64encode(value).decode().rstrip("=")
    if field.element in ("bytes", "records"):
        return base64.b64encode(value).decode()
    return value
