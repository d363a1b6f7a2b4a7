"""Addresses of host names, for limits that are set for a name. Source: Java's ``InetAddress.getByName``."""

import socket
from collections.abc import Iterable

from odradek.protocol.security.canonical_host import canonical_host


def canonical(address: str) -> str | None:
    """The canonical form of an address; None for what is not an address."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            return canonical_host(socket.inet_ntop(family, socket.inet_pton(family, address)))
        except (OSError, ValueError):
            continue  # of the other family, or a name
    return None


def is_address(host: str) -> bool:
    """Whether a host is an address, so that no name has to be looked up."""
    return canonical(host) is not None


def resolve(hosts: Iterable[str]) -> dict[str, str]:
    """Host -> its first address. Leaves out unknown hosts. Blocks while names are looked up."""
    found: dict[str, str] = {}
    for host in hosts:
        address = canonical(host)
        if address is None:
            try:
                address = str(socket.getaddrinfo(host, None)[0][4][0])
            except (OSError, ValueError):
                continue  # unknown, or no host name at all
        found[host] = address
    return found
