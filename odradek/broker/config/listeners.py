"""Listeners: the bound addresses with names and security protocols, and the addresses advertised to clients.

Pure: no socket is opened and no name resolved here. Source: Kafka's SocketServerConfigs and CoreUtils
(listenerListToEndPoints), KafkaConfig.effectiveListenerSecurityProtocolMap.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from odradek.protocol.common.lazy_imports import lazy_imports

with lazy_imports:
    import ipaddress

SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

_ENDPOINT = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")


@dataclass(frozen=True, slots=True)
class Listener:
    """One entry of ``listeners`` or ``advertised.listeners``.

    ``name`` is upper case as Kafka normalises it; ``host`` is ``""`` for all interfaces (IPv6 without its brackets);
    ``port`` 0 lets the system choose.
    """

    name: str
    protocol: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.name}://{host}:{self.port}"


def uses_sasl(protocol: str) -> bool:
    """Whether the peers authenticate by SASL under a security protocol."""
    return protocol.startswith("SASL_")


def parse_protocol_map(text: str) -> dict[str, str]:
    """``listener.security.protocol.map``: listener name -> security protocol, both upper case.

    Raises ValueError with the problem.
    """
    protocols = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, colon, protocol = (part.strip() for part in entry.rpartition(":"))
        if not colon:
            raise ValueError(f"listener.security.protocol.map: '{entry}' is not of the form NAME:PROTOCOL")
        if protocol.upper() not in SECURITY_PROTOCOLS:
            known = ", ".join(SECURITY_PROTOCOLS)
            raise ValueError(
                f"Invalid security protocol `{protocol}` defined in listener.security.protocol.map: one of {known}"
            )
        protocols[name.upper()] = protocol.upper()
    return protocols


def with_controller_listeners(
    protocols: Mapping[str, str], listeners: Sequence[str], controller_names: Sequence[str]
) -> dict[str, str]:
    """The default protocol map: controller listeners are PLAINTEXT unless a listener uses SSL or SASL."""
    secured = set(SECURITY_PROTOCOLS) - {"PLAINTEXT"}
    names = {entry.partition(":")[0].upper() for entry in listeners} | set(controller_names)
    if names & secured:
        return dict(protocols)
    return {**protocols, **{name.upper(): "PLAINTEXT" for name in controller_names}}


def parse_listeners(key: str, entries: Sequence[str], protocols: Mapping[str, str]) -> tuple[Listener, ...]:
    """The listeners of ``listeners`` or ``advertised.listeners`` (``key``).

    Raises ValueError for an invalid entry, and for a name that the protocol map does not have.
    """
    listeners = []
    for entry in entries:
        match = _ENDPOINT.fullmatch(entry)
        if match is None:
            raise ValueError(f"{key}: Unable to parse {entry} to a broker endpoint: NAME://host:port is expected")
        name, host, port = match[1].upper(), match[2], int(match[3])
        if not 0 <= port <= 65535:
            raise ValueError(f"{key}: {entry} has no possible port: 0 (any free one) to 65535")
        if name not in protocols:
            raise ValueError(
                f"{key}: No security protocol defined for listener {name}: "
                f"listener.security.protocol.map must have an entry such as {name}:PLAINTEXT"
            )
        listeners.append(Listener(name, protocols[name], host, port))
    return tuple(listeners)


def duplicates(key: str, listeners: Sequence[Listener], *, distinct_ports: bool) -> Iterator[str]:
    """The problems of duplicate names and ports.

    A port may be shared by an IPv4 and an IPv6 address; names never. Advertised ports may be equal.
    """
    names = [listener.name for listener in listeners]
    if len(set(names)) != len(names):
        yield f"Each listener must have a different name, {key}: {_shown(listeners)}"
    if not distinct_ports:
        return
    by_port: dict[int, list[Listener]] = {}
    for listener in listeners:
        if listener.port:
            by_port.setdefault(listener.port, []).append(listener)
    for port, sharing in by_port.items():
        if len(sharing) > 1 and sorted(map(_address_family, (listener.host for listener in sharing))) != [4, 6]:
            yield (
                f"Each listener must have a different port unless exactly one listener has an IPv4 address "
                f"and the other IPv6 address, {key}: {_shown(listeners)}, port: {port}"
            )


def _address_family(host: str) -> int:
    """4 or 6 for an IP address, 0 for a name."""
    try:
        return ipaddress.ip_address(host).version
    except ValueError:
        return 0


def _shown(listeners: Sequence[Listener]) -> str:
    return ",".join(map(str, listeners))
