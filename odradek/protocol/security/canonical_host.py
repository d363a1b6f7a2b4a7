"""The one form of an IP address: hosts of ACLs, quotas and clients are compared in it.

Pure. Kafka compares texts. It writes a client's address as Java does (``0:0:0:0:0:0:0:1``), so an ACL for ``::1``
concerns no client there. This broker compares addresses: all texts of an address are equal, and so are an IPv4 address
and the IPv6 address that maps it (``::ffff:10.0.0.1``; in Java a mapped address is an ``Inet4Address``). Texts are
stored and described as they were given. Source: ``InetAddress.getHostAddress``; RFC 5952; RFC 4291, 2.5.5.2.
"""

from functools import lru_cache
from typing import TYPE_CHECKING

from ..common.lazy_imports import lazy_imports

with lazy_imports:
    import ipaddress

if TYPE_CHECKING:
    from ipaddress import IPv6Address

CACHED_HOSTS = 4096


@lru_cache(CACHED_HOSTS)
def canonical_host(text: str) -> str:
    """The one form of an address. Other texts, such as ``*`` or a name, are returned as they are."""
    if ":" not in text:
        return text
    address = _ipv6(text)
    if address is None:
        return text
    mapped = address.ipv4_mapped
    return str(address if mapped is None else mapped)


@lru_cache(CACHED_HOSTS)
def network_of(text: str) -> str:
    """The network that one client may have all addresses of: the first 64 bits of an IPv6 address; else the address."""
    host = canonical_host(text)
    if ":" not in host:
        return host
    address = _ipv6(host.partition("%")[0])
    return host if address is None else address.exploded[:19]


def _ipv6(text: str) -> "IPv6Address | None":
    try:
        return ipaddress.IPv6Address(text)
    except ipaddress.AddressValueError:
        return None
