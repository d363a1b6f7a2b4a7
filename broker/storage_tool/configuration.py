"""The configuration file of a storage command, and its directories."""

import os
from pathlib import Path

import click

from ..config.errors import ConfigError
from ..config.server_config import ServerConfig


def load_configuration(path: Path) -> ServerConfig:
    """The configuration in a properties file, with ``ODRADEK_...`` of the environment. Raises click.ClickException."""
    try:
        return ServerConfig.load(path.read_text(), (), os.environ)
    except OSError as error:
        raise click.ClickException(f"can't read {path}: {error.strerror}") from error
    except ConfigError as error:
        raise click.ClickException(str(error)) from error


def metadata_directory(config: ServerConfig) -> Path:
    """The directory of the metadata log: ``metadata.log.dir``, or the first of ``log.dirs``."""
    return Path(config["metadata.log.dir"] or config.log_dirs[0])


def all_directories(config: ServerConfig) -> list[Path]:
    """Every directory of the configuration, without duplicates. That of the metadata log comes first."""
    return list(dict.fromkeys([metadata_directory(config), *map(Path, config.log_dirs)]))
