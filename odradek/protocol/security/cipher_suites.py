"""Converts names of cipher suites from IANA's, which Java and Kafka's configs use, to OpenSSL's. Pure.

Source: RFC 8446 and the register of TLS cipher suites; ciphers(1) of OpenSSL.
"""

import re

TLS_1_3_SUITES = ("TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256")
"""The suites of TLS 1.3 that OpenSSL enables, in its order of preference. Both libraries name them alike."""

_NAME = re.compile(
    r"TLS_((?:EC)?DHE_(?:ECDSA|RSA)|RSA)_WITH_"
    r"(?:AES_(128|256)_(GCM|CBC|CCM|CCM_8)(?:_SHA(256|384)?)?|(CHACHA20_POLY1305)_SHA256)"
)


def openssl_name(iana: str) -> str | None:
    """OpenSSL's name of a suite of TLS 1.2, such as ECDHE-RSA-AES128-GCM-SHA256; None for one that is not known."""
    match = _NAME.fullmatch(iana)
    if match is None:
        return None
    exchange, bits, mode, digest, chacha = match.groups()
    parts = [] if exchange == "RSA" else [exchange.replace("_", "-")]
    if chacha:
        return "-".join([*parts, "CHACHA20-POLY1305"])
    parts.append(f"AES{bits}")
    if mode.startswith("CCM"):
        return "-".join([*parts, mode.replace("_", "")])
    if mode == "GCM":
        parts.append("GCM")
    return "-".join([*parts, f"SHA{digest or ''}"])
