"""The one place that imports the console's listener: only if ``odradek.console.listener`` is set."""

from typing import TYPE_CHECKING

from odradek.protocol.common.lazy_imports import lazy_imports

from ..config.server_config import ServerConfig
from .broker import Broker

with lazy_imports:
    from . import console_listener, console_settings

if TYPE_CHECKING:
    from .console_listener import ConsoleListener


def check_console(config: ServerConfig) -> None:
    """Raises ConfigError if the console would be open to others."""
    if config.get_string("odradek.console.listener"):
        console_settings.console_config(config)


def open_console(config: ServerConfig, broker: Broker) -> "ConsoleListener | None":
    """Listens for the console; None without its key. Raises BindError."""
    if not config.get_string("odradek.console.listener"):
        return None
    listener = console_listener.ConsoleListener(config, console_settings.console_config(config), broker)
    listener.wait_for_connection()
    return listener
