"""The arguments of one request: the parts of its path, its query, and the JSON object of its body.

Pure. Owns: reading them with their limits. Never does: I/O. Invariant: a value that is missing, too long, out of range
or of another type raises BadArgument, which names the argument. The other errors of a view are ConsoleErrors, too.
"""

from collections.abc import Mapping


class ConsoleError(Exception):
    """A request cannot be answered. The message is for the user."""

    def __init__(self, status: int, message: str, code: str = "") -> None:
        """``status``: of HTTP. ``code``: a name for programs, such as Kafka's names of errors."""
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code


class BadArgument(ConsoleError):  # noqa: N818 - it is what the page calls it
    """An argument is missing or has a value that is not allowed."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(400, f"{name}: {why}", "BAD_ARGUMENT")
        self.name = name


MAX_TEXT = 1_048_576
"""The most characters of a text, if a view names no other limit."""
MAX_INT64 = (1 << 63) - 1


class ViewArguments:
    """The arguments by name. Those of the path come before those of the query or of the body."""

    def __init__(self, given: Mapping[str, object]) -> None:
        """``given``: texts and lists of texts of a path and a query, any values of a body."""
        self._given = given

    def has(self, name: str) -> bool:
        """Whether the argument was given, and is not null."""
        return self._given.get(name) is not None

    def text(self, name: str, default: str | None = None, *, most: int = MAX_TEXT) -> str:
        """A text of at most ``most`` characters. Without a ``default``, it is required."""
        value = self._given.get(name)
        if value is None:
            if default is None:
                raise BadArgument(name, "is missing")
            return default
        if isinstance(value, list):
            raise BadArgument(name, "is given more than once")
        if not isinstance(value, str):
            raise BadArgument(name, "must be a text")
        if len(value) > most:
            raise BadArgument(name, f"has {len(value)} characters; {most} are allowed")
        return value

    def choice(self, name: str, default: str | None, allowed: tuple[str, ...]) -> str:
        """One of the allowed texts."""
        value = self.text(name, default)
        if value not in allowed:
            raise BadArgument(name, f"can be {', '.join(allowed)}")
        return value

    def number(self, name: str, default: int | None = None, least: int = 0, most: int = MAX_INT64) -> int:
        """A whole number between ``least`` and ``most``: of JSON, or digits in a text, as 64-bit numbers are."""
        value = self._given.get(name)
        if value is None:
            if default is None:
                raise BadArgument(name, "is missing")
            return default
        if isinstance(value, str) and len(value) <= 20 and value.removeprefix("-").isascii():
            digits = value.removeprefix("-")
            value = int(value) if digits.isdigit() else value
        if not isinstance(value, int) or isinstance(value, bool):
            raise BadArgument(name, "must be a whole number")
        if not least <= value <= most:
            raise BadArgument(name, f"must be between {least} and {most}")
        return value

    def flag(self, name: str) -> bool:
        """Whether it is true: ``true`` of JSON, or the text ``true``. False if it is missing."""
        value = self._given.get(name)
        if value in (None, "", False, "false"):
            return False
        if value in (True, "true"):
            return True
        raise BadArgument(name, "must be true or false")

    def items(self, name: str, most: int = 50, most_text: int = MAX_TEXT) -> list[str]:
        """The texts of an argument that may be repeated, or of a list in JSON. Empty if it is missing."""
        value = self._given.get(name)
        if value is None:
            return []
        values: list[object] = value if isinstance(value, list) else [value]
        if len(values) > most:
            raise BadArgument(name, f"has {len(values)} items; {most} are allowed")
        texts = [one for one in values if isinstance(one, str) and len(one) <= most_text]
        if len(texts) < len(values):
            raise BadArgument(name, f"must be a list of texts of at most {most_text} characters")
        return texts

    def table(self, name: str, most: int = 200) -> dict[str, str | None]:
        """A JSON object whose values are texts or null. Empty if it is missing."""
        value = self._given.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict) or not all(isinstance(one, str | None) for one in value.values()):
            raise BadArgument(name, "must be an object of texts")
        if len(value) > most:
            raise BadArgument(name, f"has {len(value)} entries; {most} are allowed")
        return value

    def rows(self, name: str, most: int = 1000) -> list["ViewArguments"]:
        """A JSON list of objects, each as arguments of their own. Empty if it is missing."""
        value = self._given.get(name)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            raise BadArgument(name, "must be a list of objects")
        if len(value) > most:
            raise BadArgument(name, f"has {len(value)} rows; {most} are allowed")
        return [ViewArguments(one) for one in value]

    @property
    def is_confirmed(self) -> bool:
        """Whether a change is to be made; otherwise it is only to be previewed."""
        return self.flag("confirm")
