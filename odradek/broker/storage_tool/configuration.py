"""Loads the configuration file of a storage command, and lists its log directories."""

import os
from pathlib import Path

import click

from odradek.protocol.java.properties import decode_properties

from ..config.errors import ConfigError
from ..config.server_config import ServerConfig


def load_configuration(path: Path) -> ServerConfig:
    """Loads a properties file, with the environment variables ``ODRADEK_...``. Raises click.ClickException."""
    try:
        return ServerConfig.load(decode_properties(path.read_bytes()), (), os.environ)
    except OSError as error:
        raise click.ClickException(f"can't read {path}: {error.strerror}") from error
    except ConfigError as error:
        raise click.ClickException(str(error)) from error


def metadata_directory(config: ServerConfig) -> Path:
    """The directory of the metadata log: ``metadata.log.dir``, or the first of ``log.dirs``."""
    return Path(config["metadata.log.dir"] or config.log_dirs[0])


def all_directories(config: ServerConfig) -> list[Path]:
    """Every log directory of the configuration, without duplicates. The one of the metadata log comes first."""
    return list(dict.fromkeys([metadata_directory(config), *map(Path, config.log_dirs)]))
