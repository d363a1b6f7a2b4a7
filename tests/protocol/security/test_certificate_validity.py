"""The time in which a certificate is valid, as ``cryptography`` reads it."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from odradek.protocol.security.certificate_validity import Validity, chain_problem, validity
from odradek.testing.security.certificates import CertificateAuthority, IssuedCertificate, common_name

KEY = ec.generate_private_key(ec.SECP256R1())
NOON = datetime(2026, 11, 26, 12, tzinfo=UTC)


def certificate(begin: datetime, end: datetime, issuer: str = "b") -> bytes:
    builder = x509.CertificateBuilder(common_name(issuer), common_name("a"), KEY.public_key(), 7, begin, end)
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
    assert times.problem(NOON + 2 * second) == "expired at 2026-11-26 12:00:01 UTC"
    assert times.problem(NOON - second) == "is not valid before 2026-11-26 12:00:00 UTC"


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


def chain_of(issued: IssuedCertificate) -> list[bytes]:
    return [one.public_bytes(Encoding.DER) for one in issued.certificates]


def test_the_problem_of_a_chain_names_the_certificate() -> None:
    now, authority = datetime.now(UTC), CertificateAuthority()
    assert chain_problem(chain_of(authority.subordinate("below").issue("a")), now) is None
    problem = chain_problem(chain_of(authority.issue("a", days=-2)), now)
    assert problem is not None
    assert problem.startswith("the certificate expired at 20")
    expired = authority.subordinate("second").subordinate("third", days=-2)
    problem = chain_problem(chain_of(expired.issue("a")), now)
    assert problem is not None
    assert problem.startswith("certificate 2 of its chain (CN=third) expired at 20")


def test_an_expired_root_in_a_chain_is_no_problem() -> None:
    """The other side uses its own copy of a root."""
    root = certificate(NOON - timedelta(days=2), NOON - timedelta(days=1), issuer="a")
    assert chain_problem([certificate(NOON, NOON), root], NOON) is None
    assert chain_problem([root], NOON) == "the certificate expired at 2026-11-25 12:00:00 UTC"


@pytest.mark.parametrize(("number", "which"), [(0, "the certificate"), (1, r"certificate 2 of its chain \(CN=a\)")])
def test_a_validity_that_cannot_be_read_is_a_problem(number: int, which: str) -> None:
    chain = [certificate(NOON, NOON), certificate(NOON, NOON)]
    chain[number] = chain[number].replace(b"261126", b"26x126")
    problem = chain_problem(chain, NOON)
    assert problem is not None
    assert re.match(f"the validity of {which} can't be read: time data", problem)
