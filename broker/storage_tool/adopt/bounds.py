"""The checks before a topic is added to the metadata without a request: its configs, its offsets and epochs.

Pure. Source: ``LogConfig.validate`` for configs, as for CreateTopics. Kafka has no bound for offsets and epochs: the
formats only require values below 2^63 and 2^31, and the next append or election could exceed them.
"""

from collections.abc import Iterator, Mapping

from ....protocol.errors import KafkaError
from ....storage.log.log_config import MAX_ADOPTED_OFFSET
from ...config.server_config import ServerConfig
from ...config.topic_config import validate_topic_configs
from .found import FoundPartition

MAX_ADOPTED_EPOCH = 1 << 30
"""The highest leader epoch that is accepted. It leaves 2^30 elections."""


def config_problems(configs: Mapping[str, Mapping[str, str]], server: ServerConfig) -> list[str]:
    """The problems with the configs of topics (topic -> key -> text), with topic, key and value."""
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
    """Why the log of a partition can't be served: no append or no election would be possible."""
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
