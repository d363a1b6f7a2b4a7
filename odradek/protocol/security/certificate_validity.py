"""The time in which a certificate and its chain are valid. Pure.

Owns: the two times of a certificate. Never does: verifying a certificate (OpenSSL does, at the other end of a
connection). Invariant: bytes that are not a certificate are a ValueError. Source: RFC 5280, 4.1.2.5.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from . import der, distinguished_name

UTC_TIME, GENERALIZED_TIME = 0x17, 0x18
_FORMATS = {UTC_TIME: "%y%m%d%H%M%SZ", GENERALIZED_TIME: "%Y%m%d%H%M%SZ"}
_VALIDITY = 3
"""The position in a certificate: serial number, signature algorithm, issuer, validity."""
_FIRST_YEAR = 1950
"""The years of UTCTime are 1950 to 2049."""


class Validity(NamedTuple):
    """The first and the last moment at which a certificate is valid."""

    begin: datetime
    end: datetime

    def problem(self, now: datetime) -> str | None:
        """Why the certificate is not valid at this time, as the end of a sentence; None if it is."""
        if now > self.end:
            return f"expired at {self.end:%Y-%m-%d %H:%M:%S} UTC"
        if now < self.begin:
            return f"is not valid before {self.begin:%Y-%m-%d %H:%M:%S} UTC"
        return None


def validity(certificate: bytes) -> Validity:
    """The validity of a certificate (DER). Raises ValueError."""
    fields = [field for field in next(der.element(certificate).children()).children() if field.tag != 0xA0]
    if len(fields) <= _VALIDITY:
        raise ValueError("it is not a certificate")
    begin, end = map(_time, fields[_VALIDITY].children())
    return Validity(begin, end)


def chain_problem(chain: Sequence[bytes], now: datetime) -> str | None:
    """Why a chain of certificates (DER), its own one first, is not valid at this time; None if it is.

    Roots after the first certificate are not checked: the other side trusts its own copy of them, or none.
    """
    for number, certificate in enumerate(chain, 1):
        which = "the certificate" if number == 1 else f"certificate {number} of its chain"
        try:
            if number > 1:
                if distinguished_name.is_self_issued(certificate):
                    continue
                which += f" ({distinguished_name.subject(certificate)})"
            problem = validity(certificate).problem(now)
        except ValueError as error:  # OpenSSL takes certificates that this reader of DER does not
            return f"the validity of {which} can't be read: {error}"
        if problem is not None:
            return f"{which} {problem}"
    return None


def _time(element: der.Element) -> datetime:
    if element.tag not in _FORMATS:
        raise ValueError(f"DER: the tag at byte {element.start} is not that of a time")
    read = datetime.strptime(element.content.decode("ascii", "replace"), _FORMATS[element.tag]).replace(tzinfo=UTC)
    if element.tag == UTC_TIME and read.year >= _FIRST_YEAR + 100:
        return read.replace(year=read.year - 100)
    return read
