"""``odradek topics``: what ``kafka-topics.sh`` does, with its flags and output. ``topics_file`` is topics as a file."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from odradek.protocol.common.command_options import flag, included, option, repeated, takes
from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import ErrorCode

from ..errors import AdminError
from .command_config import ConnectionOptions
from .kafka_command import KafkaCommand
from .output import print_json, topic_id_text
from .running import (
    CommandError,
    exactly_one,
    json_option,
    key_values,
    main,
    run,
    timeout_option,
    topic_pattern,
)
from .topic_partitions import INTERNAL_TOPICS

with lazy_imports:
    from ..admin import configs as admin_configs
    from ..admin import topics as admin_topics
    from .topics_file import command as topics_file_command

if TYPE_CHECKING:
    from ..admin.configs import ConfigEntry
    from ..admin.topics import TopicAdmin
    from ..cluster.metadata import PartitionMetadata, TopicMetadata


REPORTS = (
    "under-replicated-partitions",
    "unavailable-partitions",
    "under-min-isr-partitions",
    "at-min-isr-partitions",
)
REFUSED = {
    "create": ("if-exists", "exclude-internal", *REPORTS, "topics-with-overrides"),
    "alter": ("replication-factor", "if-not-exists", "exclude-internal", *REPORTS, "topics-with-overrides"),
    "delete": (
        *("config", "partitions", "replication-factor", "replica-assignment", "if-not-exists", "exclude-internal"),
        *(*REPORTS, "topics-with-overrides"),
    ),
    "describe": ("config", "partitions", "replication-factor", "replica-assignment", "if-not-exists"),
    "list": (
        *("config", "partitions", "replication-factor", "replica-assignment", "if-exists", "if-not-exists"),
        *(*REPORTS, "topics-with-overrides"),
    ),
    "topics-with-overrides": REPORTS,
}
"""Source: ``TopicCommandOptions.checkInvalidArgs``."""
ACTION_FLAGS = ("list_", "describe", "create", "alter", "delete")
DELETE_CONFIG = "--delete-config has had no effect since Kafka 4.0: use odradek configs --alter --delete-config"
"""The warning for ``--delete-config``. kafka-topics also accepts the option, prints a warning and ignores it."""


@dataclass(frozen=True, kw_only=True)
class TopicOptions:
    """The arguments of the command."""

    connection: ConnectionOptions = included(ConnectionOptions)
    create: bool = flag("--create", help="Create a topic.")
    delete: bool = flag("--delete", help="Delete topics.")
    describe: bool = flag("--describe", help="Show partitions, replicas and configurations.")
    list_: bool = flag("--list", help="List the names of all topics.")
    alter: bool = flag("--alter", help="Increase the number of partitions (for configurations use odradek configs).")
    topic: str | None = option("--topic", help="The topic; except with --create, a regular expression.")
    topic_id: str | None = option("--topic-id", help="Describe the topic with this id; --topic is ignored.")
    partitions: int | None = option("--partitions", type=click.IntRange(min=1), help="The number of partitions.")
    replication_factor: int | None = option(
        "--replication-factor", type=click.IntRange(1, 32767), help="The number of replicas."
    )
    replica_assignment: str | None = option(
        "--replica-assignment", metavar="0:1,1:2", help="Broker ids for each partition, instead of --partitions."
    )
    config: tuple[str, ...] = repeated("--config", metavar="KEY=VALUE", help="A configuration of the new topic.")
    delete_config: tuple[str, ...] = repeated(
        "--delete-config", metavar="KEY", help="Has no effect since Kafka 4: use odradek configs."
    )
    if_exists: bool = flag("--if-exists", help="Do not fail if a topic does not exist.")
    if_not_exists: bool = flag("--if-not-exists", help="Do not fail if the topic exists.")
    exclude_internal: bool = flag("--exclude-internal", help="Leave out internal topics (__consumer_offsets ...).")
    under_replicated_partitions: bool = flag(
        "--under-replicated-partitions", help="Describe only partitions that have fewer in-sync than assigned replicas."
    )
    unavailable_partitions: bool = flag("--unavailable-partitions", help="Describe only partitions without a leader.")
    under_min_isr_partitions: bool = flag(
        "--under-min-isr-partitions", help="Describe only partitions below min.insync.replicas."
    )
    at_min_isr_partitions: bool = flag(
        "--at-min-isr-partitions", help="Describe only partitions at min.insync.replicas."
    )
    topics_with_overrides: bool = flag(
        "--topics-with-overrides", help="Describe only topics with their own configurations."
    )
    partitions_a_response: int = option(
        "--partition-size-limit-per-response",
        type=click.IntRange(min=1),
        default=2000,
        show_default=True,
        help="The maximum number of partitions in one response.",
    )
    timeout_ms: int = timeout_option()
    as_json: bool = json_option()

    @property
    def action(self) -> str:
        """The name of the one action that was given. Raises UsageError if none or several were given."""
        return exactly_one({name.removesuffix("_"): getattr(self, name) for name in ACTION_FLAGS})

    @property
    def configs(self) -> dict[str, str]:
        """The configurations of ``--config``. Raises UsageError."""
        return key_values(self.config, "--config")

    @property
    def topic_id_bytes(self) -> bytes | None:
        """The 16 bytes of ``--topic-id``. None if it is not given, or zero (no topic has it). Raises UsageError."""
        return parse_topic_id(self.topic_id)

    @property
    def is_report(self) -> bool:
        """Whether ``--describe`` prints only partitions in a certain state, without a line for their topic."""
        return (
            self.under_replicated_partitions
            or self.unavailable_partitions
            or self.under_min_isr_partitions
            or self.at_min_isr_partitions
        )


@click.command(
    cls=KafkaCommand,
    refused=REFUSED,
    help="Create, delete, describe, list or change topics. 'topics apply FILE' makes them as a file says, "
    "'topics export' prints that file.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes(TopicOptions)
def command(options: TopicOptions) -> int:
    """Checks the arguments and runs the action."""
    if options.delete_config:
        click.echo(DELETE_CONFIG, err=True)
    action = options.action
    check_options(action, options)
    return run(lambda: act(action, options))


async def act(action: str, options: TopicOptions) -> None:
    """Connects and runs the action."""
    async with options.connection.admin(admin_topics.TopicAdmin, options.timeout_ms) as admin:
        await ACTIONS[action](admin, options)


def check_options(action: str, options: TopicOptions) -> None:
    """Raises UsageError for an option that is missing or malformed, or that the action does not allow."""
    if action in ("create", "alter", "delete") and not options.topic:
        raise click.UsageError(f"--{action} needs --topic")
    if action == "alter" and (options.partitions is None or options.config):
        raise click.UsageError("--alter needs --partitions; configurations are changed with 'odradek configs --alter'")
    has_counts = options.partitions or options.replication_factor
    if action == "create" and options.replica_assignment is not None and has_counts:
        raise click.UsageError("--replica-assignment sets the partitions and their replicas: give it alone")
    if action == "describe" and options.if_exists and options.topic is None and options.topic_id is None:
        raise click.UsageError("--topic or --topic-id is required to describe a topic with --if-exists")
    parse_topic_id(options.topic_id)
    key_values(options.config, "--config")


async def create_topic(admin: TopicAdmin, options: TopicOptions) -> None:
    """``--create``: creates a topic. Does nothing if it exists, with ``--if-not-exists``."""
    assert options.topic is not None
    if "." in options.topic or "_" in options.topic:
        click.echo(
            "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') "
            "could collide. To avoid issues it is best to use either, but not both.",
            err=options.as_json,
        )
    topic = admin_topics.NewTopic(
        options.topic,
        num_partitions=options.partitions or -1,
        replication_factor=options.replication_factor or -1,
        replicas_assignments=parse_replica_assignment(options.replica_assignment),
        configs=options.configs,
    )
    try:
        created = await admin.create_topics([topic])
    except AdminError as error:
        if error.error_code == ErrorCode.TOPIC_ALREADY_EXISTS and options.if_not_exists:
            return
        raise
    if options.as_json:
        print_json([{"name": name, "topicId": topic_id_text(t.topic_id)} for name, t in created.items()])
    else:
        click.echo(f"Created topic {options.topic}.")


def parse_replica_assignment(text: str | None) -> dict[int, list[int]]:
    """Parses ``0:1,1:2`` to partition -> broker ids. Raises UsageError."""
    if not text:
        return {}
    try:
        return {number: [int(node) for node in part.split(":")] for number, part in enumerate(text.split(","))}
    except ValueError:
        raise click.UsageError(f"--replica-assignment {text}: must be broker ids like 0:1,1:2") from None


async def list_topics(admin: TopicAdmin, options: TopicOptions) -> None:
    """``--list``: prints the names of the topics that match."""
    names = await matching_topics(admin, options)
    if options.as_json:
        print_json(names)
    elif names:
        click.echo("\n".join(names))


async def matching_topics(admin: TopicAdmin, options: TopicOptions, *, must_exist: bool = False) -> list[str]:
    """The existing topics that match ``--topic``: a regular expression for whole names, in which a comma means "or".

    ``must_exist``: raises CommandError if none matches, unless ``--if-exists`` is given.
    """
    names = await admin.list_topics()
    if options.exclude_internal:
        names = [name for name in names if name not in INTERNAL_TOPICS]
    if options.topic:
        pattern = topic_pattern(options.topic, "--topic")
        names = [name for name in names if pattern.fullmatch(name)]
        if must_exist and not names and not options.if_exists:
            raise CommandError(f"Topic '{options.topic}' does not exist as expected; 'odradek topics --list' shows all")
    return names


async def alter_topics(admin: TopicAdmin, options: TopicOptions) -> None:
    """``--alter --partitions``: adds partitions to the topics that match."""
    assert options.partitions is not None
    names = await matching_topics(admin, options, must_exist=True)
    if not names:
        return
    assignments: dict[str, list[list[int]]] = {}
    if options.replica_assignment:
        replicas_of_partition = parse_replica_assignment(options.replica_assignment)
        for name, topic in (await admin.describe_topics(names)).items():
            assignments[name] = list(replicas_of_partition.values())[len(topic.partitions) :]
    await admin.create_partitions(dict.fromkeys(names, options.partitions), assignments)
    if options.as_json:
        print_json([{"name": name, "partitions": options.partitions} for name in names])


async def delete_topics(admin: TopicAdmin, options: TopicOptions) -> None:
    """``--delete``: deletes the topics that match."""
    names = await matching_topics(admin, options, must_exist=True)
    if names:
        await admin.delete_topics(names)
    if options.as_json:
        print_json(names)


async def describe_topics(admin: TopicAdmin, options: TopicOptions) -> None:
    """``--describe``: prints the partitions and configs of the topics that match."""
    topics = await described_topics(admin, options)
    if not topics:
        if options.as_json:
            print_json([])
        return
    configs = await admin_configs.ConfigAdmin.beside(admin).describe_configs("topic", list(topics))
    documents = []
    for name, topic in topics.items():
        overrides = [entry for entry in configs[name] if entry.source != "DEFAULT_CONFIG"]
        if options.topics_with_overrides and not any(entry.source == "DYNAMIC_TOPIC_CONFIG" for entry in overrides):
            continue
        min_isr = next(
            int(entry.value) for entry in configs[name] if entry.name == "min.insync.replicas" and entry.value
        )
        partitions = [p for p in topic.partitions.values() if _is_wanted(p, min_isr, options)]
        if options.as_json:
            documents.append(_document(topic, partitions, overrides))
        else:
            _print_topic(topic, partitions, overrides, options)
    if options.as_json:
        print_json(documents)


def parse_topic_id(text: str | None) -> bytes | None:
    """Decodes ``--topic-id`` to 16 bytes. None if it is not given, or zero (no topic has it). Raises UsageError."""
    if text is None:
        return None
    try:
        topic_id = base64.b64decode(text + "==", altchars=b"-_", validate=True)
    except ValueError:
        topic_id = b""
    if len(topic_id) != 16:
        raise click.UsageError(f"--topic-id {text}: must be 22 characters, as 'odradek topics --describe' prints them")
    return topic_id if any(topic_id) else None


async def described_topics(admin: TopicAdmin, options: TopicOptions) -> dict[str, TopicMetadata]:
    """The topics of ``--topic-id``, otherwise of ``--topic``. Raises CommandError if one does not exist."""
    topic_id = options.topic_id_bytes
    if topic_id is None:
        names = await matching_topics(admin, options, must_exist=True)
        return await admin.describe_topics(names, options.partitions_a_response) if names else {}
    topic = await admin.describe_topic_of_id(topic_id)
    if topic is not None and not (options.exclude_internal and topic.name in INTERNAL_TOPICS):
        return {topic.name: topic}
    if options.if_exists:
        return {}
    raise CommandError(
        f"TopicId '{topic_id_text(topic_id)}' does not exist as expected; 'odradek topics --describe' shows all"
    )


def _is_wanted(partition: PartitionMetadata, min_isr: int, options: TopicOptions) -> bool:
    has_leader, isr = partition.leader >= 0, len(partition.isr)
    return (
        not options.is_report
        or (options.under_replicated_partitions and isr < len(partition.replicas))
        or (options.unavailable_partitions and not has_leader)
        or (options.under_min_isr_partitions and (not has_leader or isr < min_isr))
        or (options.at_min_isr_partitions and isr == min_isr)
    )


def _print_topic(
    topic: TopicMetadata, partitions: list[PartitionMetadata], overrides: list[ConfigEntry], options: TopicOptions
) -> None:
    if not options.is_report:
        replicas = len(next(iter(topic.partitions.values())).replicas) if topic.partitions else 0
        text = ",".join(f"{entry.name}={entry.value}" for entry in overrides)
        topic_id = f"\tTopicId: {topic_id_text(topic.topic_id)}" if any(topic.topic_id) else ""
        click.echo(
            f"Topic: {topic.name}{topic_id}\tPartitionCount: {len(topic.partitions)}"
            f"\tReplicationFactor: {replicas}\tConfigs: {text}"
        )
    if options.topics_with_overrides:
        return
    for partition in partitions:
        click.echo(
            f"\tTopic: {topic.name}\tPartition: {partition.partition}"
            f"\tLeader: {partition.leader if partition.leader >= 0 else 'none'}"
            f"\tReplicas: {_numbers(partition.replicas)}\tIsr: {_numbers(partition.isr)}"
            f"\tElr: {_numbers(partition.eligible_leader_replicas)}"
            f"\tLastKnownElr: {_numbers(partition.last_known_elr)}"
        )


def _numbers(numbers: tuple[int, ...] | None) -> str:
    return "N/A" if numbers is None else ",".join(map(str, numbers))


def _document(topic: TopicMetadata, partitions: list[PartitionMetadata], overrides: list[ConfigEntry]) -> object:
    return {
        "name": topic.name,
        "topicId": topic_id_text(topic.topic_id),
        "internal": topic.is_internal,
        "configs": {entry.name: entry.value for entry in overrides},
        "partitions": [
            {
                "partition": partition.partition,
                "leader": partition.leader if partition.leader >= 0 else None,
                "leaderEpoch": partition.leader_epoch,
                "replicas": list(partition.replicas),
                "isr": list(partition.isr),
            }
            for partition in partitions
        ],
    }


ACTIONS = {
    "create": create_topic,
    "list": list_topics,
    "alter": alter_topics,
    "delete": delete_topics,
    "describe": describe_topics,
}


def topics(arguments: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek topics``, returns the exit code."""
    if arguments[:1] in (["apply"], ["export"]):
        return topics_file_command.topics_file(arguments[0], arguments[1:])
    return main(command, "topics", arguments)
