"""The arguments of ``odradek serve``, declared once: for the parser and for the command."""

import argparse
from typing import NamedTuple

from odradek.protocol.common.command_arguments import argument

LEVELS = ("debug", "info", "warning", "error")


class ServeArguments(NamedTuple):
    """The arguments of ``odradek serve``."""

    configuration: str | None = argument(
        nargs="?", metavar="CONF", help="the broker's configuration: a properties file with Kafka's keys"
    )
    override: list[str] = argument(
        "--override", action="append", default=[], metavar="KEY=VALUE", help="set one key; may be repeated"
    )
    variable: list[tuple[str, str]] = argument(
        "--variable", action="append", default=[], nargs=2, help=argparse.SUPPRESS
    )
    """For the image's entry point: a variable of Apache's image sets one key, and errors name the variable."""
    cluster_id: str | None = argument(
        "--cluster-id", metavar="ID", help="the cluster id of a new data directory; ignored if the directory has one"
    )
    ready_file: str | None = argument(
        "--ready-file", metavar="FILE", help="a file to write when the broker is ready: JSON with the actual ports"
    )
    create_topic: list[str] = argument(
        "--create-topic",
        action="append",
        default=[],
        metavar="NAME[:PARTITIONS[:REPLICAS]][:CLEANUP.POLICY]",
        help="a topic to create at the start if it does not exist; may be repeated",
    )
    topics: str | None = argument(
        "--topics",
        metavar="FILE",
        help="a YAML file of topics to create at the start if they do not exist, as odradek topics apply reads it",
    )
    console: bool = argument(
        "--console",
        action="store_true",
        help="serve the console at odradek.console.listener, by default 127.0.0.1:8080",
    )
    announce_as_kafka: bool = argument("--announce-as-kafka", action="store_true", help=argparse.SUPPRESS)
    """For the image's entry point: what other images log when they serve, and tools wait for."""
    log_level: str = argument(
        "--log-level", choices=LEVELS, default="info", help="the lowest level of log lines; default: info"
    )
    log_format: str = argument(
        "--log-format", choices=("text", "json"), default="text", help="the format of log lines; default: text"
    )
