"""Which names the console may be reached by, and which pages may send it changes.

Pure. Owns: the check of ``Host`` against DNS rebinding, and of ``Origin`` against requests of other pages. A page of an
attacker whose name was rebound to this machine sends its own name as ``Host``, and an ``Origin`` that equals it; so
``Host`` is compared with a list, on every path. Ports are not compared: a rebound name is foreign at every port, and
port forwards change them.
"""

from collections.abc import Iterable

from odradek.broker.http.hosts import is_address, is_wildcard

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


class AllowedHosts:
    """The names of one console."""

    def __init__(self, listener_host: str, more: Iterable[str] = ()) -> None:
        """``listener_host``: what the listener is bound to. ``more``: names in a proxy or in DNS."""
        host = listener_host.strip("[]").lower()
        self._takes_addresses = is_wildcard(host)
        """A listener on every interface may be asked at every address: an address in ``Host`` is not a rebound name."""
        named = {name.strip("[]").lower() for name in more}
        self._names = {*LOOPBACK_NAMES, *named} | (set() if self._takes_addresses else {host})

    def allows(self, host: str) -> bool:
        """Whether a request with this ``Host`` is answered."""
        name = name_of(host)
        return name in self._names or (self._takes_addresses and is_address(name))


def name_of(host: str) -> str:
    """The name or address in a ``Host`` header, without brackets and port, in lower case."""
    host = host.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if ":" in host else host


def is_own_origin(origin: str, host: str, *, over_tls: bool) -> bool:
    """Whether an ``Origin`` is this console's page. Without TLS of its own, a proxy may add it."""
    schemes = ("https",) if over_tls else ("http", "https")
    return any(origin.lower() == f"{scheme}://{host.strip().lower()}" for scheme in schemes)
