"""Checks a topic before a storage command adds it to the metadata: its configs, offsets and leader epochs.

Pure. Source: ``LogConfig.validate`` for configs, as for CreateTopics. The bounds of offsets and epochs are ours: the
formats allow values up to 2^63 - 1 and 2^31 - 1, but near these the next append or election would overflow.
"""

from collections.abc import Iterator, Mapping

from odradek.protocol.errors import KafkaError
from odradek.storage.log.log_config import MAX_ADOPTED_OFFSET

from ...config.server_config import ServerConfig
from ...config.topic_config import validate_topic_configs
from .found import FoundPartition

MAX_ADOPTED_EPOCH = 1 << 30
"""The highest leader epoch that is accepted. It leaves room for 2^30 more elections."""


def config_problems(configs: Mapping[str, Mapping[str, str]], server: ServerConfig) -> list[str]:
    """The problems of the configs of topics (topic -> key -> text); each message names topic, key and value."""
    problems = []
    for topic, given in configs.items():
        alone = [
            f"topic {topic}: {key}={text}: {reason}"
            for key, text in given.items()
            if (reason := _refusal({key: text}, server)) is not None
        ]
        together = None if alone else _refusal(given, server)
        if together is not None:
            settings = ", ".join(f"{key}={text}" for key, text in given.items())
            alone.append(f"topic {topic}: {settings}: {together}")
        problems += alone
    return problems


def _refusal(configs: Mapping[str, str], server: ServerConfig) -> str | None:
    try:
        validate_topic_configs(configs, server)
    except KafkaError as error:
        return error.message
    return None


def bound_problems(partition: FoundPartition) -> Iterator[str]:
    """The problems of a log whose offsets or leader epochs are too high for further appends or elections."""
    highest = partition.log_end_offset - 1
    if partition.log_end_offset > MAX_ADOPTED_OFFSET:
        yield (
            f"{partition.path}: offsets go up to {highest}; above {MAX_ADOPTED_OFFSET - 1} the log has no "
            "room for more records: move the directory away"
        )
    if partition.leader_epoch > MAX_ADOPTED_EPOCH:
        yield (
            f"{partition.path}: leader epochs go up to {partition.leader_epoch}; above {MAX_ADOPTED_EPOCH} the log has "
            "no room for more elections: move the directory away"
        )
