"""Listeners: what is bound, under which name and security protocol, and what is advertised to clients."""

from dataclasses import dataclass


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
