"""What all message classes share: construction, comparing and showing by their fields.

Owns: ``__slots__`` and ``__init__`` of the classes, equality, representation. Never does: encoding (see
:mod:`odradek.protocol.codec`).

A generated class names each field once, as a dataclass does: ``session_id: int = 0``. :class:`StructureType` makes
``__slots__`` of the fields. A class gets its ``__init__`` after it has constructed FEW objects: generating one takes
80 us, and a start imports 370 classes of which it constructs 24, most of them once.
"""

import sys
from typing import Any, ClassVar, Final, TypeAlias, dataclass_transform

NEW_LIST: Final[list[Any]] = []
"""Default of a field that is an array: each object gets a list of its own. Compared by identity, never filled."""

NEW_NULLABLE_LIST: Final[list[Any]] = []
"""The same for an array that may be null: if None is given, it stays None."""

NEW_STRUCTURE: Final[Any] = object()
"""The same for a field that is a structure."""

ZERO_UUID: Final = bytes(16)
"""Kafka's ``Uuid.ZERO_UUID``: no id. Ids are plain 16 bytes everywhere."""

FEW: Final = 8
"""The number of objects that a class constructs before it gets an ``__init__`` of its own."""

SECRETS: Final = frozenset({"auth_bytes", "hmac", "salt", "salted_password", "server_key", "stored_key"})
"""Fields with which a client could log in, or which help to guess a password. Nothing shows them."""

SECRET_CONFIGS: Final = (
    "password",
    ".jaas.config",
    "ssl.keystore.key",
    "ssl.keystore.certificate.chain",
    "ssl.truststore.certificates",
    "delegation.token.secret.key",
    ".client.secret",
    ".passphrase",
    "odradek.metrics.credentials",
    "odradek.console.credentials",
)
"""What the names of configs with a secret end with: those of the type PASSWORD, also with the prefix of a listener."""

HIDDEN: Final = "[hidden]"
"""The text that is shown in place of a secret."""

Records: TypeAlias = Any
"""What a ``records`` field holds: decoded a memoryview into the input, not a copy, or None for null. To be encoded it
may be bytes, a view or anything else with a length, which ``encode_parts`` passes through (a region of a file)."""


def is_secret_config(name: object) -> bool:
    """Whether the value of a config with this name must not be shown. False if it is not a name."""
    return isinstance(name, str) and name.lower().endswith(SECRET_CONFIGS)


class StructureType(type):
    """The type of the message classes. Makes a class with ``__slots__`` of the fields that its body annotates."""

    def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> "StructureType":
        """Takes the defaults out of ``body``, as a class can't have a slot and a value of the same name."""
        if "__slots__" not in body:
            annotations = body.pop("__annotations__", {})
            body["__slots__"] = tuple(annotations)
            body["_defaults"] = defaults = tuple(map(body.pop, annotations))
            if NEW_STRUCTURE in defaults:
                body["__annotations__"] = annotations
        return super().__new__(mcs, name, bases, body)


@dataclass_transform(eq_default=False)
class Structure(metaclass=StructureType):
    """A structure of the message table. The ``__slots__`` of a class are its fields, in the table's order."""

    __slots__: ClassVar[tuple[str, ...]] = ("unknown_tagged_fields",)

    unknown_tagged_fields: list[tuple[int, bytes]] | None
    """Tagged fields that the table does not define: (tag, bytes) by rising tag. They are kept and written back."""

    _defaults: ClassVar[tuple[object, ...]] = ()
    """The defaults of the fields."""

    _constructed: ClassVar[int] = 0
    """The objects that a class constructed without an ``__init__`` of its own."""

    def __init__(self, *values: object, **named: object) -> None:
        """Constructs the first FEW objects of a class. The next one gives the class its own ``__init__``."""
        cls = type(self)
        given = dict(zip(cls.__slots__, values, strict=False)) | named
        is_wrong = len(given) < len(values) + len(named) or not given.keys() <= set(cls.__slots__)
        if is_wrong or cls._constructed >= FEW or NEW_STRUCTURE in cls._defaults:
            cls.__init__ = _init_of(cls)  # type: ignore[method-assign]
            cls.__init__(self, *values, **named)
            return
        cls._constructed += 1
        for name, default in zip(cls.__slots__, cls._defaults, strict=True):
            value = given.get(name, default)
            is_new = value is NEW_LIST or value is NEW_NULLABLE_LIST or (value is None and default is NEW_LIST)
            setattr(self, name, [] if is_new else value)
        self.unknown_tagged_fields = None

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in (*self.__slots__, "unknown_tagged_fields"))

    __hash__ = None  # type: ignore[assignment]  # its fields change

    def __repr__(self) -> str:
        secrets = SECRETS | {"value"} if is_secret_config(getattr(self, "name", None)) else SECRETS
        shown = [f"{name}={HIDDEN if name in secrets else repr(getattr(self, name))}" for name in self.__slots__]
        if self.unknown_tagged_fields:
            shown.append(f"unknown_tagged_fields={self.unknown_tagged_fields!r}")
        return f"{type(self).__qualname__}({', '.join(shown)})"


class Message(Structure):
    """A message of the table, what the codec encodes and decodes."""

    __slots__ = ()

    NAME: ClassVar[str]
    """Kafka's name, also the class's."""
    API_KEY: ClassVar[int]
    """The API's key, or the record's type number; -1 if it has none."""
    VERSIONS: ClassVar[tuple[int, int]]
    """Lowest and highest version."""
    FLEXIBLE_SINCE: ClassVar[int]
    """The first version with compact lengths and tagged fields; 32767 for never."""


def _init_of(cls: type[Structure]) -> Any:
    """The ``__init__`` of a class: a parameter and an assignment for each field.

    A parameter whose field can't be null has None as its default. Comparing with None is the fastest.
    """
    source = [f"def __init__({', '.join(['self', *cls.__slots__])}):"]
    defaults = []
    module = vars(sys.modules[cls.__module__])
    names = module
    for name, default in zip(cls.__slots__, cls._defaults, strict=True):
        value = name
        if default is NEW_NULLABLE_LIST:
            value = f"[] if {name} is NEW_NULLABLE_LIST else {name}"
        elif default is NEW_LIST:
            value, default = f"[] if {name} is None else {name}", None
        elif default is NEW_STRUCTURE:
            kind, nullable, _ = cls.__annotations__[name].partition(" | None")
            message, structure = kind.split(".")
            names = {**names, structure: getattr(module[message], structure)}
            value = f"{structure}() if {name} is {'NEW_STRUCTURE' if nullable else None} else {name}"
            default = default if nullable else None
        defaults.append(default)
        source.append(f" self.{name} = {value}")
    source.append(" self.unknown_tagged_fields = None")
    made: dict[str, Any] = {}
    exec("\n".join(source), names, made)
    init = made["__init__"]
    init.__defaults__ = tuple(defaults)
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init
