"""The broker's configuration: parsed, typed, validated.

Owns: reading the sources in their order of precedence and the typed values of Kafka's server keys. Never does: open a
file or a socket, read a clock, change after it was made. Invariant: every value in it passed its type and validator.
Source: Kafka's AbstractKafkaConfig and KafkaConfig.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from .listeners import Listener


class ServerConfig:
    """The broker's configuration by Kafka's keys: ``config["log.segment.bytes"]`` is the typed value.

    Immutable. ``get_int``, ``get_boolean``, ``get_string``, ``get_list`` and ``get_float`` say the type where it matters to a checker.
    """

    listeners: tuple[Listener, ...]
    """What clients may connect to, in the order of ``listeners``; controller listeners are not among them."""
    controller_listeners: tuple[Listener, ...]
    """The listeners named by ``controller.listener.names``: accepted, advertised to nobody."""
    advertised_listeners: tuple[Listener, ...]
    """What Metadata tells clients: one for each of ``listeners``, in their order. Port 0 or host "" here means: what was bound."""
    inter_broker_listener_name: str
    node_id: int
    log_dirs: tuple[str, ...]
    """``log.dirs`` (or ``log.dir``), as given."""

    @classmethod
    def load(
        cls, properties: str | None = None, overrides: Sequence[str] = (), environ: Mapping[str, str] | None = None
    ) -> "ServerConfig":
        """The configuration from a properties text, ``ODRADEK_…`` of the environment, and ``key=value`` overrides.

        Later ones win: defaults, file, environment, overrides. Raises ConfigError with everything that is wrong.
        """
        ...

    def __getitem__(self, key: str) -> Any:
        """The typed value of a key of Kafka's (int, bool, float, str, list of str or None). Raises KeyError for an unknown key."""
        ...

    def get_int(self, key: str) -> int: ...
    def get_float(self, key: str) -> float: ...
    def get_boolean(self, key: str) -> bool: ...
    def get_string(self, key: str) -> str: ...
    def get_list(self, key: str) -> list[str]: ...

    def keys_without_effect(self) -> list[str]:
        """The keys that were given, are Kafka's, and change nothing here, sorted: for one line at start."""
        ...

    def with_dynamic(self, cluster: Mapping[str, str], broker: Mapping[str, str]) -> "ServerConfig":
        """The same configuration under dynamic broker configs: cluster-wide ones, then this broker's own."""
        ...
