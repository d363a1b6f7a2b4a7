"""A broker outside this process, at an address (in a container, for example), for tests that use the fixture ``kafka``.

Owns: emptying it between tests, with requests that any client may send. Never does: faults, clocks, kills, or anything
else that needs a broker in this process. A test that uses one of these is skipped with a reason that names it.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import ErrorCode, KafkaError

from ..broker.config_values import ConfigValue
from ..fixtures.options import ADDRESS_OPTION, IMAGE_OPTION
from ..inspection import Inspection

with lazy_imports:
    import pytest

    from ..broker import in_process

if TYPE_CHECKING:
    from odradek.client.admin import Admin


class BrokerElsewhere(Inspection):
    """Any Kafka broker at an address, with the same helpers as an in-process broker."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._bootstrap_servers = bootstrap_servers

    @property
    def bootstrap_servers(self) -> str:
        """``host:port``, for the setting ``bootstrap.servers`` of clients."""
        return self._bootstrap_servers

    def reset(self, configs: Mapping[str, ConfigValue] | None = None) -> None:
        """Deletes all topics (without internal ones) and all groups without members. Other broker state stays.

        Skips the test if it asks for ``configs``: the configs of this broker can't be set from here.
        """
        if configs:
            _skip(f"the configs {', '.join(sorted(configs))} need a broker that runs in this process")

        async def delete(admin: "Admin") -> None:
            topics = [name for name in await admin.list_topics() if not name.startswith("__")]
            if topics:
                await admin.delete_topics(topics)
            for group in await admin.list_groups():
                try:
                    await admin.delete_groups([group.group_id])
                except KafkaError as error:
                    if error.error_code not in (ErrorCode.NON_EMPTY_GROUP, ErrorCode.GROUP_ID_NOT_FOUND):
                        raise

        self._admin(delete)

    def __getattr__(self, name: str) -> NoReturn:
        """Skips the test if it uses an attribute that only :class:`InProcessBroker` has. Raises AttributeError else."""
        if not name.startswith("_") and (hasattr(in_process.InProcessBroker, name) or name in ("faults", "log_dir")):
            _skip(f"kafka.{name} needs a broker in this process, without {ADDRESS_OPTION} and {IMAGE_OPTION}")
        raise AttributeError(name)


def _skip(reason: str) -> NoReturn:
    pytest.skip(reason)
