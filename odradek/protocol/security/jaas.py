"""Parses JAAS configurations: the value of ``sasl.jaas.config``, and files with several login contexts.

    org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="secret";

    KafkaServer {
        org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret";
    };

Pure. Owns: both grammars. Never does: reading a file, loading a class. Invariant: an error names the position and never
shows a value, which may be a password. Source: Kafka's ``JaasConfig``, Java's ``StreamTokenizer`` and
``sun.security.provider.ConfigFile``.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTHBEARER_MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
KERBEROS_MODULE = "com.sun.security.auth.module.Krb5LoginModule"
FLAGS = ("REQUIRED", "REQUISITE", "SUFFICIENT", "OPTIONAL")
_OCTAL = "01234567"
_ESCAPES = {"a": "\x07", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\x0b"}


class JaasError(ValueError):
    """A configuration that can't be read. The text has the position and no value."""


class JaasModule(NamedTuple):
    """One login module: the class name as it is written, the flag in upper case, the options."""

    name: str
    flag: str
    options: Mapping[str, str]

    def __repr__(self) -> str:
        return f"JaasModule({self.name!r}, {self.flag!r}, options: {sorted(self.options)!r})"


class _Token(NamedTuple):
    """``kind``: ``word``, ``quoted``, ``number``, ``end``, or the character itself. ``offset``: where it starts."""

    kind: str
    text: str
    offset: int


def parse_modules(text: str) -> list[JaasModule]:
    """The login modules of ``sasl.jaas.config``. Raises JaasError."""
    tokens = _tokens(text, "-_$", "")
    modules = []
    token = next(tokens)
    while token.kind != "end":
        modules.append(_module(text, token, tokens))
        token = next(tokens)
    if not modules:
        raise JaasError("Login module not specified in JAAS config")
    return modules


def parse_module(text: str) -> JaasModule:
    """The login module of ``sasl.jaas.config``. Raises JaasError if there is not exactly one."""
    modules = parse_modules(text)
    if len(modules) != 1:
        raise JaasError(f"JAAS config property contains {len(modules)} login modules, should be 1 module")
    return modules[0]


def parse_file(text: str) -> dict[str, list[JaasModule]]:
    """The login contexts of a file, such as ``KafkaServer``: name -> modules. Raises JaasError."""
    tokens = _tokens(text, "-_$*", "'")
    contexts: dict[str, list[JaasModule]] = {}
    token = next(tokens)
    while token.kind != "end":
        name = _word(text, token, "the name of a login context")
        if name in contexts:
            raise _at(text, token, f"the login context {name!r} is defined twice")
        _expect(text, next(tokens), "{")
        modules = contexts[name] = []
        token = next(tokens)
        while token.kind != "}":
            modules.append(_module(text, token, tokens, in_file=True))
            token = next(tokens)
        _expect(text, next(tokens), ";")
        token = next(tokens)
    return contexts


def _module(text: str, token: _Token, tokens: Iterator[_Token], in_file: bool = False) -> JaasModule:
    name = _word(text, token, "the class name of a login module")
    token = next(tokens)
    flag = _word(text, token, f"a control flag ({', '.join(FLAGS)})").upper()
    if flag not in FLAGS:
        raise _at(text, token, f"a control flag is expected after the module's name: {', '.join(FLAGS)}")
    options: dict[str, str] = {}
    while (token := next(tokens)).kind != ";":
        key = _word(text, token, "name=value, or ; at the end of the module")
        _expect(text, next(tokens), "=", f" after the option {key!r}")
        value = next(tokens)
        if value.kind not in ("word", "quoted"):
            raise _at(
                text,
                value,
                f'the value of the option {key!r} must be in quotes: {key}="..." '
                "(only words of letters, digits, _ and - that begin with a letter may go without)",
            )
        if in_file and "${" in value.text:
            raise _at(text, value, f"the option {key!r} has ${{...}}: references to properties are not supported")
        options[key] = value.text
    return JaasModule(name, flag, options)


def _word(text: str, token: _Token, what: str) -> str:
    if token.kind not in ("word", "quoted"):
        raise _at(text, token, f"{what} is expected")
    return token.text


def _expect(text: str, token: _Token, kind: str, where: str = "") -> None:
    if token.kind != kind:
        raise _at(text, token, f"{kind} is expected{where}")


def _at(text: str, token: _Token, problem: str) -> JaasError:
    line = text.count("\n", 0, token.offset) + 1
    column = token.offset - text.rfind("\n", 0, token.offset)
    end = "at the end, " if token.kind == "end" else ""
    return JaasError(f"{end}line {line}, column {column}: {problem}")


def _tokens(text: str, extra_letters: str, refused_quotes: str) -> Iterator[_Token]:
    """The tokens that Java's ``StreamTokenizer`` gives. ``extra_letters``: further characters of words.
    ``refused_quotes``: quotes that don't make a ``quoted`` token (files allow double quotes only).
    """
    position, size = 0, len(text)
    while position < size:
        char = text[position]
        start = position
        if char <= " ":
            position += 1
        elif char in "0123456789.-":
            position = _after_number(text, start)
            yield _Token("number" if position > start else char, "", start)
            position = max(position, start + 1)  # a minus without a number is a token of its own
        elif _is_letter(char, extra_letters):
            while position < size and (_is_letter(text[position], extra_letters) or text[position] in "0123456789.-"):
                position += 1
            yield _Token("word", text[start:position], start)
        elif char in "\"'":
            quoted, position = _quoted(text, position)
            yield _Token(char if char in refused_quotes else "quoted", quoted, start)
        elif char == "/":
            position = _after_comment(text, position)
        else:
            position += 1
            yield _Token(char, char, start)
    while True:
        yield _Token("end", "", size)


def _is_letter(char: str, extra_letters: str) -> bool:
    """Whether Java's tokenizer treats a character as a letter: ASCII letters, and all from 0xA0 on."""
    return ("a" <= char <= "z") or ("A" <= char <= "Z") or char >= "\xa0" or char in extra_letters


def _after_number(text: str, position: int) -> int:
    """The position after a number; ``position`` itself for a minus without a number."""
    start = position
    if text[position] == "-":
        position += 1
        if text[position : position + 1] not in tuple("0123456789."):
            return start
    seen_dot = False
    while position < len(text):
        char = text[position]
        if char == "." and not seen_dot:
            seen_dot = True
        elif char not in "0123456789":
            break
        position += 1
    return position


def _quoted(text: str, position: int) -> tuple[str, int]:
    """The text in quotes, and the position after it. Without a closing quote, it ends at the end of the line."""
    quote = text[position]
    position += 1
    characters: list[str] = []
    while position < len(text):
        char = text[position]
        if char == quote:
            return "".join(characters), position + 1
        if char in "\r\n":
            break
        if char == "\\":
            char, position = _escaped(text, position + 1)
        else:
            position += 1
        characters.append(char)
    return "".join(characters), position


def _escaped(text: str, position: int) -> tuple[str, int]:
    """The character after a backslash, and the position after it: an octal number or a letter."""
    first = text[position : position + 1]
    if not first:
        return "\uffff", position  # as Java, which takes the end of its input as a character here
    if first not in _OCTAL:
        return _ESCAPES.get(first, first), position + 1
    most = 3 if first <= "3" else 2
    end = position + 1
    while end < position + most and text[end : end + 1] and text[end] in _OCTAL:
        end += 1
    return chr(int(text[position:end], 8)), end


def _after_comment(text: str, position: int) -> int:
    """The position after a comment: ``/* ... */``, or from a slash to the end of the line."""
    if text.startswith("/*", position):
        end = text.find("*/", position + 2)
        return len(text) if end < 0 else end + 2
    while position < len(text) and text[position] not in "\r\n":
        position += 1
    return position
