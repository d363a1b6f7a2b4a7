"""Ranges of IP addresses in the hosts of ACLs, such as ``10.0.0.0/8`` and ``2001:db8::/32``.

Pure. Owns: the notation (CIDR, RFC 4632, RFC 4291). Bits after the prefix may be set; they do not count. An IPv6 range
that maps IPv4 addresses (``::ffff:10.0.0.0/104``) is refused, as in Kafka, where such a client has an IPv4 address.
Source: Kafka's ``CidrUtils``, Apache Commons Net's ``SubnetUtils`` and ``SubnetUtils6``; KIP-1276.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from ..common.lazy_imports import lazy_imports

with lazy_imports:
    import ipaddress

SLASH = "/"
"""A host with it is a range."""
CACHED_ADDRESSES = 4096
_IPV4 = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})")


class HostRange(NamedTuple):
    """The addresses that have the same first bits."""

    address_bits: int
    """32 for IPv4, 128 for IPv6."""
    prefix: int
    """The first bits, as a number."""
    free_bits: int
    """The number of bits after the prefix."""

    @classmethod
    def parse(cls, text: str) -> "HostRange":
        """The range of a text with a slash. Raises ValueError with what is wrong."""
        host, _, length = text.partition(SLASH)
        address = None if "%" in host else _address(host)
        if address is None:
            raise ValueError(f"Could not parse [{text}]: {host!r} is not an IP address")
        address_bits, number = address
        if not re.fullmatch("[0-9]{1,3}", length) or int(length) > address_bits:
            raise ValueError(f"Could not parse [{text}]: the prefix length must be between 0 and {address_bits}")
        free_bits = address_bits - int(length)
        return cls(address_bits, number >> free_bits, free_bits)

    def contains(self, host: str) -> bool:
        """Whether a host is an address in the range; False for any other text."""
        address = _address(host)
        return address is not None and address[0] == self.address_bits and address[1] >> self.free_bits == self.prefix


@lru_cache(CACHED_ADDRESSES)
def _address(host: str) -> tuple[int, int] | None:
    """The number of bits of an address, and the address as a number; None for any other text."""
    if ":" not in host:
        found = _IPV4.fullmatch(host)
        octets = [int(part) for part in found.groups()] if found else [256]
        return (32, int.from_bytes(bytes(octets), "big")) if max(octets) < 256 else None
    try:
        address = ipaddress.IPv6Address(host.partition("%")[0])
    except ipaddress.AddressValueError:
        return None
    return None if address.ipv4_mapped is not None else (128, int(address))
