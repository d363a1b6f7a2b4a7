"""Ranges of addresses in ACLs: the notation, and the addresses in them."""

import ipaddress
from random import Random

import pytest

from odradek.protocol.security.host_range import HostRange

MALFORMED = [
    *("", "/", "10.0.0.0", "10.0.0.0/", "/8", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8/8", "10.0.0/8", "256.0.0.0/8"),
    *("a/b", "::/129", "::/", "::/x", ":/8", "1:2:3/8", "::ffff:10.0.0.0/104", "fe80::1%eth0/64", "10.0.0.0/255.0.0.0"),
    *("10.0.0.0/\u0668", "\u0661.0.0.0/8", " 10.0.0.0/8", "10.0.0.0 /8"),
]


@pytest.mark.parametrize("text", MALFORMED)
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="Could not parse"):
        HostRange.parse(text)


def test_random_ranges_contain_what_the_standard_library_says() -> None:
    """``Random(SEED)`` draws a range and an address that shares some of its bits; the message names the seed."""
    for seed in range(2_000):
        random = Random(seed)
        bits = random.choice((32, 128))
        of = ipaddress.IPv4Address if bits == 32 else ipaddress.IPv6Address
        # 2^124 and more: below that lie the addresses that map IPv4 ones.
        low = 0 if bits == 32 else 1 << 124
        number = random.randrange(low, 1 << bits)
        length = random.randint(0, bits)
        other = number ^ (1 << random.randrange(bits - 4)) ^ random.getrandbits(random.randint(0, bits - 4) or 1)
        network = ipaddress.ip_network((number, length), strict=False)
        text = f"{of(number)}/{length}"
        for asked in (of(number), of(other)):
            assert HostRange.parse(text).contains(str(asked)) is (asked in network), (seed, text, str(asked))


def test_an_address_of_the_other_family_and_a_name_are_in_no_range() -> None:
    assert not HostRange.parse("0.0.0.0/0").contains("::1")
    assert not HostRange.parse("::/0").contains("10.0.0.1")
    assert not HostRange.parse("::/0").contains("broker.example")
