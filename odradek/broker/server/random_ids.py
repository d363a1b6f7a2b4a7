"""Random ids, from the operating system, without the module uuid: that takes 4 ms of a start (platform).

Owns: nothing. Invariant: every id is a version 4 UUID. Source: RFC 9562; Kafka's Uuid.randomUuid.
"""

import os


def _random_bytes() -> bytes:
    data = bytearray(os.urandom(16))
    data[6] = data[6] & 0x0F | 0x40
    data[8] = data[8] & 0x3F | 0x80
    return bytes(data)


def random_uuid() -> bytes:
    """16 random bytes, never a reserved id nor one whose text begins with a dash (``Uuid.randomUuid``)."""
    while True:
        candidate = _random_bytes()
        # 0xf8 to 0xfb begin with a dash in base64url, which command lines parse as an option.
        if candidate[0] & 0xFC != 0xF8:
            return candidate


def random_uuid_text() -> str:
    """A random id as Java's UUID writes it, in five groups of hexadecimal digits."""
    text = _random_bytes().hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
