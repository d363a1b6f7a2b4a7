"""Topics that a start creates if they do not exist (``odradek serve --create-topic`` and ``--topics``, the image's
variables).

Owns: the form of their text. Never does: changing a topic that exists. Source: ours; ``KAFKA_CREATE_TOPICS`` of
wurstmeister/kafka has the form ``name:partitions:replicas[:cleanup.policy]``.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.common.wall_clock import clock_ms
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.topics import CreateTopicsRequest, CreateTopicsResponse

from ..config.errors import ConfigError
from ..metadata.controller.topics import create_topics
from .broker import Broker

with lazy_imports:
    from odradek.protocol.common import topics_file

logger = logging.getLogger(__name__)

FORM = "NAME[:PARTITIONS[:REPLICAS]][:CLEANUP.POLICY]"


class FirstTopic(NamedTuple):
    """A topic to create; -1 takes the broker's default. ``asked_by``: the flag, or the file and line, for errors."""

    name: str
    asked_by: str
    partitions: int = -1
    replicas: int = -1
    config: Mapping[str, str] = {}


def first_topic(text: str) -> FirstTopic:
    """A topic from its text (:data:`FORM`). Raises ConfigError."""
    name, *rest = [part.strip() for part in text.split(":")]
    numbers: list[int] = []
    while rest and rest[0].isdecimal() and len(numbers) < 2:
        numbers.append(int(rest.pop(0)))
    if not name or len(rest) > 1:
        raise ConfigError([f"--create-topic {text}: the form is {FORM}"])
    partitions, replicas = [*numbers, -1, -1][:2]
    config = {"cleanup.policy": rest[0]} if rest and rest[0] else {}
    return FirstTopic(name, f"--create-topic {name}", partitions, replicas, config)


def topics_of_file(path: str) -> list[FirstTopic]:
    """The topics of a file (``--topics``). Raises ConfigError, which names the line."""
    try:
        wanted = topics_file.read_topics(Path(path).read_text())
    except (OSError, UnicodeDecodeError, topics_file.TopicsFileError) as problem:
        raise ConfigError([f"--topics {path}: {problem}"]) from None
    absent = [
        f"--topics {path}: line {topic.line}: a start deletes no topic; use odradek topics apply"
        for topic in wanted
        if topic.is_absent
    ]
    if absent:
        raise ConfigError(absent)
    return [
        FirstTopic(
            topic.name,
            f"--topics {path}: line {topic.line}: {topic.name}",
            topic.partitions or -1,
            topic.replicas or -1,
            topic.config,
        )
        for topic in wanted
    ]


async def create_first_topics(broker: Broker, topics: Sequence[FirstTopic]) -> None:
    """Creates the topics that do not exist. Raises ConfigError with the refusals of all topics; KafkaError if nothing
    can be written."""
    if broker.is_cluster_member:
        reason = "needs a broker that is its own controller: create the topics of a cluster once"
        raise ConfigError([f"{topics[0].asked_by} {reason}"])
    image = broker.metadata.image
    missing = {topic.name: topic for topic in topics if topic.name not in image.topics_by_name}
    answered: asyncio.Future[CreateTopicsResponse | KafkaError] = asyncio.get_running_loop().create_future()
    request = CreateTopicsRequest([_creatable(topic) for topic in missing.values()])
    broker.own_metadata.change(
        lambda: create_topics(broker.metadata.image, request, broker.controller, with_configs=False),
        clock_ms(),
        answered.set_result,
    )
    outcome = await answered
    if isinstance(outcome, KafkaError):
        raise outcome
    results = outcome.topics
    refused = [
        f"{missing[result.name].asked_by}: {result.error_message}"
        for result in results
        if result.error_code != ErrorCode.NONE
    ]
    if refused:
        raise ConfigError(refused)
    for topic in results:
        logger.info("created topic %s with %d partitions", topic.name, topic.num_partitions)


def _creatable(topic: FirstTopic) -> CreateTopicsRequest.CreatableTopic:
    configs = [CreateTopicsRequest.CreatableTopicConfig(key, value) for key, value in topic.config.items()]
    return CreateTopicsRequest.CreatableTopic(topic.name, topic.partitions, topic.replicas, configs=configs)
