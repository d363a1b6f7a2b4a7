r"""Prints distinguished names of certificates as Java does, since Kafka's principals and ACLs have this text. Pure.

Owns: RFC 2253 in the form of ``X500Principal.getName()``. Never does: verifying a certificate (OpenSSL does).
Invariants: the last part of the name is printed first; attribute types without a keyword in RFC 2253 are printed as
numbers, with their value as hexadecimal DER; ``,=+<>#;"\`` are always escaped, spaces only at both ends. Source:
``sun.security.x509.AVA.toRFC2253String``.
"""

from . import der

_KEYWORDS = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.25": "DC",
    "0.9.2342.19200300.100.1.1": "UID",
}
_TEXT_TAGS = frozenset({0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1E})
"""UTF8String, PrintableString, T61String, IA5String, GeneralString, BMPString: Java reads all as UTF-8."""
_ESCAPED = frozenset(',=+<>#;"\\')
_ISSUER, _SUBJECT = 2, 4
"""Positions in a certificate: serial number, signature algorithm, issuer, validity, subject, public key."""
_SUBJECT_ALTERNATIVE_NAME = "2.5.29.17"


def subject(certificate: bytes) -> str:
    """The subject of a certificate (DER), such as ``CN=alice,O=Odradek``; empty if it has none.

    Raises ValueError for what is not a certificate.
    """
    return printed(_fields(certificate)[_SUBJECT])


def is_self_issued(certificate: bytes) -> bool:
    """Whether the issuer of a certificate (DER) is its subject, as in a root certificate. Raises ValueError."""
    fields = _fields(certificate)
    return fields[_ISSUER].encoded == fields[_SUBJECT].encoded


def printed(name: der.Element) -> str:
    """A name (an ASN.1 sequence of sets of types with values) as text. Raises ValueError if it is malformed."""
    parts = ["+".join(_printed(attribute) for attribute in relative.children()) for relative in name.children()]
    return ",".join(reversed(parts))


def alternative_names(certificate: bytes) -> frozenset[bytes]:
    """The subject alternative names of a certificate, each as encoded. Raises ValueError."""
    # [1], [2] and [3] extensions follow the public key
    extensions = next((field for field in _fields(certificate)[6:] if field.tag == 0xA3), None)
    for extension in () if extensions is None else der.element(extensions.content).children():
        fields = list(extension.children())
        if der.dotted(fields[0].content) == _SUBJECT_ALTERNATIVE_NAME:
            names = der.element(fields[-1].content)
            return frozenset(name.encoded for name in names.children())
    return frozenset()


def _fields(certificate: bytes) -> list[der.Element]:
    """The fields of a certificate without its version."""
    fields = [field for field in next(der.element(certificate).children()).children() if field.tag != 0xA0]
    if len(fields) < 6:
        raise ValueError("it is not a certificate")
    return fields


def _printed(attribute: der.Element) -> str:
    kind, value = attribute.children()
    number = der.dotted(kind.content)
    keyword = _KEYWORDS.get(number)
    if keyword is None or value.tag not in _TEXT_TAGS:
        return f"{keyword or number}=#{value.encoded.hex()}"
    return f"{keyword}={_escaped(value.content.decode('utf-8', 'replace'))}"


def _escaped(text: str) -> str:
    escaped = "".join(
        "\\" + character if character in _ESCAPED else "\\00" if character == "\0" else character for character in text
    )
    middle = escaped.lstrip(" \r")
    lead = len(escaped) - len(middle)
    middle = middle.rstrip(" \r")
    trail = escaped[lead + len(middle) :]
    return (
        "".join("\\" + character for character in escaped[:lead])
        + middle
        + "".join("\\" + character for character in trail)
    )
