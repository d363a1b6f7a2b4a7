"""The time in which a certificate is valid, as ``cryptography`` reads it."""

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from odradek.protocol.security.certificate_validity import Validity, validity
from odradek.testing.certificates import common_name

KEY = ec.generate_private_key(ec.SECP256R1())
NOON = datetime(2026, 11, 26, 12, tzinfo=UTC)


def certificate(begin: datetime, end: datetime) -> bytes:
    builder = x509.CertificateBuilder(common_name("a"), common_name("b"), KEY.public_key(), 7, begin, end)
    return builder.sign(KEY, hashes.SHA256()).public_bytes(Encoding.DER)


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        (datetime(1950, 1, 1, tzinfo=UTC), datetime(1999, 12, 31, 23, 59, 59, tzinfo=UTC)),
        (datetime(2000, 2, 29, 1, 2, 3, tzinfo=UTC), datetime(2049, 12, 31, 23, 59, 59, tzinfo=UTC)),
        (datetime(2026, 1, 1, tzinfo=UTC), datetime(2050, 1, 1, tzinfo=UTC)),
        (datetime(2068, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)),
    ],
)
def test_both_encodings_of_times_are_read(begin: datetime, end: datetime) -> None:
    assert validity(certificate(begin, end)) == (begin, end)


def test_a_problem_has_the_time() -> None:
    second = timedelta(seconds=1)
    times = Validity(NOON, NOON + second)
    assert [times.problem(NOON), times.problem(NOON + second)] == [None, None]
    assert times.problem(NOON + 2 * second) == "the certificate expired at 2026-11-26 12:00:01 UTC"
    assert times.problem(NOON - second) == "the certificate is not valid before 2026-11-26 12:00:00 UTC"


@pytest.mark.parametrize("place", ["cut", "tag", "digits"])
def test_other_bytes_are_an_error(place: str) -> None:
    data = certificate(NOON, NOON + timedelta(days=1))
    at = data.index(b"261126")
    if place == "cut":
        data = data[: at - 4]
    else:
        changed = bytearray(data)
        changed[at - 2 if place == "tag" else at] = 0x04
        data = bytes(changed)
    with pytest.raises(ValueError, match=r"DER|time data"):
        validity(data)
