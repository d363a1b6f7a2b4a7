"""Keys, values and headers as a person reads them: text, JSON and hex.

Pure. Invariant: what is longer than the limit is cut before it is decoded, and says its whole size. Null, empty and
text stay different: null has ``isNull``, empty has size 0.
"""

import json

from ..context import Json

PREVIEW_BYTES = 512
"""The bytes of a key, value or header in a list of records."""
DETAIL_BYTES = 64 * 1024
"""The bytes of a key, value or header of the one record that is open. The rest can be downloaded."""
INDENT = "  "


def shown(data: bytes | None, limit: int) -> Json:
    """Bytes as text (null if they are not UTF-8), JSON (null if they are not JSON) and hex, at most ``limit`` bytes."""
    if data is None:
        return {"isNull": True, "size": "0", "isCut": False, "text": None, "json": None, "hex": ""}
    part = data[:limit]
    is_cut = len(part) < len(data)
    text = _text(part, is_cut)
    return {
        "isNull": False,
        "size": str(len(data)),
        "isCut": is_cut,
        "text": text,
        "json": None if is_cut or text is None else indented_json(text),
        "hex": part.hex(" "),
    }


def outlined(data: bytes | None) -> Json:
    """As :func:`shown` for a row of a list: text, or hex if the bytes are not UTF-8."""
    if data is None:
        return {"isNull": True, "size": "0", "isCut": False, "text": None, "hex": ""}
    part = data[:PREVIEW_BYTES]
    is_cut = len(part) < len(data)
    text = _text(part, is_cut)
    hexadecimal = part[: PREVIEW_BYTES // 4].hex(" ") if text is None else ""
    return {"isNull": False, "size": str(len(data)), "isCut": is_cut, "text": text, "hex": hexadecimal}


def indented_json(text: str) -> str | None:
    """A JSON object or array with line breaks, None for anything else.

    Works on the text: numbers keep all their digits, keys that occur twice stay.
    """
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return None
    return _indented(text)


def _indented(text: str) -> str:
    """Valid JSON with line breaks and indentation."""
    made: list[str] = []
    depth = position = 0
    while position < len(text):
        char = text[position]
        if char == '"':
            end = _string_end(text, position)
            made.append(text[position:end])
            position = end
            continue
        position += 1
        if char in "{[":
            closing = _next_sign(text, position)
            if text[closing] in "}]":
                made.append(char + text[closing])
                position = closing + 1
            else:
                depth += 1
                made.append(f"{char}\n{INDENT * depth}")
        elif char in "}]":
            depth -= 1
            made.append(f"\n{INDENT * depth}{char}")
        elif char == ",":
            made.append(f",\n{INDENT * depth}")
        elif char == ":":
            made.append(": ")
        elif not char.isspace():
            made.append(char)
    return "".join(made)


def _string_end(text: str, start: int) -> int:
    position = start + 1
    while text[position] != '"':
        position += 2 if text[position] == "\\" else 1
    return position + 1


def _next_sign(text: str, position: int) -> int:
    while text[position].isspace():
        position += 1
    return position


def _text(data: bytes, is_cut: bool) -> str | None:
    """UTF-8 as text; a character that the cut has halved is left out."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        if is_cut and error.reason == "unexpected end of data":
            return data[: error.start].decode()
        return None
