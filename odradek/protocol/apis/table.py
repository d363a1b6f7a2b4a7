"""The table of Kafka's messages: what fields each message has in each version.

Owns: the typed form of ``data/messages.json`` (Kafka 4.4.0) and ``data/messages-old.json`` (the oldest versions, which
Kafka 3.9.1 still served and Kafka 4 dropped); both are read on first use. Never does: encoding. Invariant: a version
below 4.4.0's lowest is laid out as 3.9.1 defined it, every other one as 4.4.0 does.

Source: Kafka's ``MessageSpec``, ``FieldSpec`` and ``Versions``.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from json import JSONDecoder
from keyword import iskeyword
from os.path import dirname, join
from typing import Any, Final, NamedTuple

FOREVER: Final = 32767
"""The highest version there can be (versions are int16): the end of an open range, and ``FLEXIBLE_SINCE`` for never."""

ZERO_UUID: Final = bytes(16)
INTEGER_RANGES: Final[dict[str, tuple[int, int]]] = {
    "int8": (-(1 << 7), (1 << 7) - 1),
    "int16": (-(1 << 15), (1 << 15) - 1),
    "uint16": (0, (1 << 16) - 1),
    "int32": (-(1 << 31), (1 << 31) - 1),
    "uint32": (0, (1 << 32) - 1),
    "int64": (-(1 << 63), (1 << 63) - 1),
}
"""Name of each integer type -> its lowest and highest value."""

PRIMITIVES: Final = frozenset({*INTEGER_RANGES, "bool", "float64", "string", "bytes", "records", "uuid"})


class VersionRange:
    """Versions from ``lowest`` to ``highest``, both included; empty when ``lowest`` is above ``highest``."""

    __slots__ = ("highest", "lowest")

    def __init__(self, lowest: int, highest: int) -> None:
        self.lowest = lowest
        self.highest = highest

    @classmethod
    def parse(cls, text: str | None) -> "VersionRange":
        """Kafka's notation: ``3``, ``1-4``, ``2+``, ``none`` (or nothing)."""
        if text is None or text == "none":
            return NO_VERSIONS
        if text.endswith("+"):
            return cls(int(text[:-1]), FOREVER)
        low, _, high = text.partition("-")
        return cls(int(low), int(high or low))

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.lowest <= version <= self.highest

    def __bool__(self) -> bool:
        return self.lowest <= self.highest

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.lowest, self.highest + 1))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VersionRange) and (self.lowest, self.highest) == (other.lowest, other.highest)

    def __hash__(self) -> int:
        return hash((self.lowest, self.highest))

    def __repr__(self) -> str:
        return f"VersionRange({self.lowest}, {self.highest})"

    def __str__(self) -> str:
        if not self:
            return "none"
        if self.highest == FOREVER:
            return f"{self.lowest}+"
        return str(self.lowest) if self.lowest == self.highest else f"{self.lowest}-{self.highest}"


NO_VERSIONS: Final = VersionRange(0, -1)


class FieldSpec(NamedTuple):
    """One field: Kafka's name and type, and the versions in which it is there, nullable, tagged."""

    name: str
    attribute: str
    """The attribute's name in our classes: ``GroupInstanceId`` -> ``group_instance_id``."""
    type: str
    """``int32``, ``string``, … or the name of a structure; with ``[]`` before it for an array."""
    versions: VersionRange
    nullable_versions: VersionRange
    tag: int | None
    tagged_versions: VersionRange
    default: Any
    """Kafka's default as a value of ours: an int, bool, float, str, bytes or None; ``[]`` for an array; for a structure
    ``{}`` (a structure of defaults) or None."""
    ignorable: bool
    """Whether a version without the field silently drops a non-default value; otherwise encoding it is an error."""
    map_key: bool
    flexible_versions: VersionRange | None
    """Only set if they differ from those of the message (the client id in RequestHeader, which is never compact)."""
    entity_type: str | None
    zero_copy: bool

    @property
    def is_array(self) -> bool:
        """Whether this is an array."""
        return self.type.startswith("[]")

    @property
    def element(self) -> str:
        """The type without ``[]``."""
        return self.type.removeprefix("[]")

    @property
    def is_structure(self) -> bool:
        """Whether the field, or each element of the array, is a structure."""
        return self.element not in PRIMITIVES

    def is_nullable(self, version: int) -> bool:
        """Whether null can be written in ``version``."""
        return version in self.nullable_versions

    def is_tagged(self, version: int) -> bool:
        """Whether the field stands among the tagged fields of ``version``."""
        return self.tag is not None and version in self.tagged_versions


class StructureSpec(NamedTuple):
    """A structure inside a message, or the message's own fields under the message's name."""

    name: str
    versions: VersionRange
    fields: tuple[FieldSpec, ...]

    def plain_fields(self, version: int) -> list[FieldSpec]:
        """The fields that ``version`` writes one after the other, in order."""
        return [f for f in self.fields if version in f.versions and not f.is_tagged(version)]

    def tagged_fields(self, version: int) -> list[FieldSpec]:
        """The tagged fields that ``version`` knows, by rising tag."""
        return sorted((f for f in self.fields if version in f.versions and f.is_tagged(version)), key=_tag)


class Layout(NamedTuple):
    """The structures of a message as one release of Kafka defines them."""

    versions: VersionRange
    flexible_versions: VersionRange
    structures: Mapping[str, StructureSpec]
    """By name; the message's own fields stand under its name."""


class MessageSpec(NamedTuple):
    """One message of the table."""

    name: str
    type: str
    """``request``, ``response``, ``header``, ``metadata``, ``coordinator-key``, ``coordinator-value`` or ``data``."""
    api_key: int
    """The API key; for records the record type; -1 if the message has none."""
    versions: VersionRange
    """The versions of Kafka 4.4.0 and of 3.9.1 together."""
    flexible_versions: VersionRange
    deprecated_versions: VersionRange
    listeners: tuple[str, ...]
    latest_version_unstable: bool
    layouts: tuple[Layout, ...]
    """The oldest versions' layout first, if there is one, then 4.4.0's."""

    def layout(self, version: int) -> Layout:
        """The layout that holds for ``version``; raises KeyError for a version that the message does not have."""
        for layout in self.layouts:
            if version in layout.versions:
                return layout
        raise KeyError(f"{self.name} has no version {version}")

    def is_flexible(self, version: int) -> bool:
        """Whether ``version`` has compact lengths and tagged fields (KIP-482)."""
        return version in self.flexible_versions

    def structures(self) -> dict[str, StructureSpec]:
        """Every structure with the union of its fields over all versions: 4.4.0's in order, then what only was older.

        The message itself comes last, under its own name.
        """
        union: dict[str, StructureSpec] = {}
        for layout in reversed(self.layouts):
            for name, structure in layout.structures.items():
                known = union.setdefault(name, structure)
                names = {field.name for field in known.fields}
                older = tuple(field for field in structure.fields if field.name not in names)
                if older:
                    union[name] = StructureSpec(name, known.versions, known.fields + older)
        union[self.name] = union.pop(self.name)
        return union


def snake_case(name: str) -> str:
    """Kafka's field name as a Python name: ``IsrReplicasV2`` -> ``isr_replicas_v2``, a keyword gets an underscore."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    return words + "_" if iskeyword(words) else words


def message(name: str) -> MessageSpec:
    """The message called ``name`` (``FetchRequest``). Raises KeyError for an unknown name."""
    return _message(name)


def message_names() -> list[str]:
    """The names of all messages of 4.4.0, sorted; eight of them (ZooKeeper's time) have no version any more."""
    return sorted(re.findall(r'^"(\w+)": ', _text("messages.json"), re.MULTILINE))


def messages() -> list[MessageSpec]:
    """All messages, by name."""
    return [message(name) for name in message_names()]


@cache
def _text(file_name: str) -> str:
    with open(join(dirname(__file__), "data", file_name), encoding="utf-8") as file:
        return file.read()


def _definition(file_name: str, name: str) -> dict[str, Any] | None:
    """Parses one message of a file, which has one line for each. Parsing all at the start would take much longer."""
    text = _text(file_name)
    start = f'\n"{name}": '
    at = text.find(start)
    if at < 0:
        return None
    definition: dict[str, Any] = JSONDecoder().raw_decode(text, at + len(start))[0]
    return definition


@cache
def _message(name: str) -> MessageSpec:
    definition = _definition("messages.json", name)
    if definition is None:
        raise KeyError(name)
    old = _definition("messages-old.json", name)
    current = _layout(definition, VersionRange.parse(definition["validVersions"]))
    layouts: tuple[Layout, ...] = (current,)
    versions = current.versions
    if old is not None:
        lowest = VersionRange.parse(old["validVersions"]).lowest
        if lowest < current.versions.lowest:
            layouts = (_layout(old, VersionRange(lowest, current.versions.lowest - 1)), current)
            versions = VersionRange(lowest, current.versions.highest)
    return MessageSpec(
        name,
        definition["type"],
        definition.get("apiKey", -1),
        versions,
        current.flexible_versions,
        VersionRange.parse(definition.get("deprecatedVersions")),
        tuple(definition.get("listeners", ())),
        bool(definition.get("latestVersionUnstable", False)),
        layouts,
    )


def _layout(definition: dict[str, Any], versions: VersionRange) -> Layout:
    structures: dict[str, StructureSpec] = {}

    def add(name: str, its_versions: VersionRange, fields: list[dict[str, Any]]) -> None:
        for field in fields:
            if "fields" in field:
                add(field["type"].removeprefix("[]"), VersionRange.parse(field.get("versions")), field["fields"])
        assert name not in structures, f"{definition['name']} defines {name} twice"
        structures[name] = StructureSpec(name, its_versions, tuple(_field(field) for field in fields))

    for shared in definition.get("commonStructs", []):
        add(shared["name"], VersionRange.parse(shared["versions"]), shared["fields"])
    add(definition["name"], versions, definition["fields"])
    return Layout(versions, VersionRange.parse(definition.get("flexibleVersions")), structures)


def _field(field: dict[str, Any]) -> FieldSpec:
    tagged = VersionRange.parse(field.get("taggedVersions"))
    return FieldSpec(
        name=field["name"],
        attribute=snake_case(field["name"]),
        type=field["type"],
        # Five tagged fields of 4.4.0 name only their tagged versions: they are there in exactly those.
        versions=VersionRange.parse(field["versions"]) if "versions" in field else tagged,
        nullable_versions=VersionRange.parse(field.get("nullableVersions")),
        tag=field.get("tag"),
        tagged_versions=tagged,
        default=_default(field),
        ignorable=bool(field.get("ignorable", False)),
        map_key=bool(field.get("mapKey", False)),
        flexible_versions=VersionRange.parse(field["flexibleVersions"]) if "flexibleVersions" in field else None,
        entity_type=field.get("entityType"),
        zero_copy=bool(field.get("zeroCopy", False)),
    )


def _default(field: dict[str, Any]) -> Any:
    """The default as a value; the table has it as JSON text, JSON value or (mostly) not at all."""
    kind: str = field["type"]
    # JSON null means "no default given"; the string "null" means that the default is null, as in Kafka's FieldSpec.
    given = "" if field.get("default") is None else field["default"]
    if given == "null" or kind == "records":
        return None
    if kind.startswith("[]"):
        return []
    if kind == "bool":
        return given in (True, "true")
    if kind == "float64":
        return float(given or 0.0)
    if kind in INTEGER_RANGES:
        return int(given, 0) if isinstance(given, str) and given else int(given or 0)
    return {"string": given, "bytes": b"", "uuid": ZERO_UUID}.get(kind, {})


def _tag(field: FieldSpec) -> int:
    assert field.tag is not None
    return field.tag
