"""Which machines reach a host that a listener is bound to. Pure."""

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Whether a listener on this host is reached from this machine only."""
    name = host.strip("[]").lower()
    return name == "localhost" or (is_address(name) and ip_address(name).is_loopback)


def is_wildcard(host: str) -> bool:
    """Whether a host is every interface."""
    name = host.strip("[]")
    return not name or (is_address(name) and ip_address(name).is_unspecified)


def is_address(name: str) -> bool:
    """Whether it is an address of IPv4 or IPv6, not a name."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def host_and_port(address: str) -> tuple[str, int]:
    """The parts of the key of a listener, ``host:port``, which the configuration has checked; without brackets."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def in_url(host: str) -> str:
    """The host as a part of a URL of this machine: with brackets if it has colons, loopback for every interface."""
    name = "127.0.0.1" if is_wildcard(host) else host.strip("[]")
    return f"[{name}]" if ":" in name else name
