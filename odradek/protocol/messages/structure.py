"""What all message classes share: comparing and showing by their fields.

Owns: equality, representation. Never does: encoding (see :mod:`odradek.protocol.codec`).
"""

from typing import Any, ClassVar, Final, TypeAlias

NEW_LIST: Final[list[Any]] = []
"""Default of array parameters that may be null but are not by default: the field becomes a fresh empty list. Compared
by identity, never filled."""

NEW_STRUCTURE: Final[Any] = object()
"""The same for a structure that may be null but is not by default."""

ZERO_UUID: Final = bytes(16)
"""Kafka's ``Uuid.ZERO_UUID``: no id. Ids are plain 16 bytes everywhere."""

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


class Structure:
    """A structure of the message table. The ``__slots__`` of a class are its fields, in the table's order."""

    __slots__: ClassVar[tuple[str, ...]] = ("unknown_tagged_fields",)

    unknown_tagged_fields: list[tuple[int, bytes]] | None
    """Tagged fields that the table does not define: (tag, bytes) by rising tag. They are kept and written back."""

    def __init__(self) -> None:
        self.unknown_tagged_fields = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Structure) or other.__class__ is not self.__class__:
            return NotImplemented
        return self.unknown_tagged_fields == other.unknown_tagged_fields and all(
            getattr(self, name) == getattr(other, name) for name in self.__slots__
        )

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
