"""Adds topics to the metadata of a log directory that already has their partitions.

`odradek import` wrote the partitions, or they were copied there. A directory without metadata becomes a new cluster.
Owns: the order of writing. Invariants: the directory is locked; existing files are neither removed nor changed; all
records are appended to the metadata log at once. Source: StorageTool format, KafkaMetadataLog.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from odradek.protocol.names.topics import INTERNAL_TOPICS
from odradek.storage.directory.log_directories import LogDirectories
from odradek.storage.errors import StorageError
from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import uuid_text

from ...config.server_config import ServerConfig
from ...metadata.controller.broker_lifecycle import seed_metadata
from ...metadata.publisher.service import MetadataService
from .adoption import internal_configs
from .bounds import config_problems
from .found import FoundDirectory
from .plan import AdoptedTopic, AdoptionPlan, AdoptionRefusedError, AdoptionWishes, plan_adoption
from .records import adoption_records
from .survey import survey


def add_topics(
    path: Path,
    names: Sequence[str],
    wishes: AdoptionWishes,
    environ: Mapping[str, str],
    *,
    may_be_internal: bool = False,
    now_ms: int,
    random_uuid: Callable[[], bytes],
) -> list[AdoptedTopic]:
    """Adds the topics to the metadata in the directory. Returns the added topics.

    `may_be_internal`: for an import with topic ids; records of coordinators name topics by their ids.

    Raises AdoptionRefusedError with every reason; DirectoryLockedError, OSError, StorageError, KafkaError, ConfigError,
    MetadataLogError.
    """
    directories = LogDirectories.open([path], lambda _: Files())
    try:
        found = survey([path], lambda _: Files())
        [directory] = found.directories
        if not may_be_internal:
            _refuse_internal(names)
        plan = _plan(directory, names, wishes, random_uuid)
        config = ServerConfig.load(None, [f"log.dirs={path}", f"node.id={plan.node_id}"], environ)
        check_configs(wishes.configs, config)
        service = MetadataService.open(
            directories.metadata,
            config,
            directory_id=plan.directory_ids[0],
            now_ms=now_ms,
            random_uuid=random_uuid,
            cluster_id=plan.cluster_id,
        )
        known = sorted(service.image.topics_by_name.keys() & set(names))
        if known:
            raise AdoptionRefusedError([f"the metadata in {path} already has topic {', '.join(known)}"])
        highest = found.highest_producer_id
        next_producer_id = highest + 1 if highest >= service.image.next_producer_id else 0
        internal = {name: found for name, found in internal_configs(config).items() if name not in wishes.kept_configs}
        seed_metadata(service, config, partial(adoption_records, plan, internal, next_producer_id), now_ms)
    finally:
        directories.abort()
    return list(plan.topics)


def check_configs(configs: Mapping[str, Mapping[str, str]], server: ServerConfig) -> None:
    """Validates topic configs (topic -> key -> value) as CreateTopics does. Raises AdoptionRefusedError with all
    problems.
    """
    problems = config_problems(configs, server)
    if problems:
        raise AdoptionRefusedError(problems)


def _refuse_internal(names: Sequence[str]) -> None:
    internal = sorted(set(names) & set(INTERNAL_TOPICS))
    if internal:
        raise AdoptionRefusedError([f"{', '.join(internal)}: internal topics can't be added"])


def _plan(
    directory: FoundDirectory,
    names: Sequence[str],
    wishes: AdoptionWishes,
    random_uuid: Callable[[], bytes],
) -> AdoptionPlan:
    """The plan of an adoption with only these topics. Raises AdoptionRefusedError, StorageError."""
    here = {partition.topic for partition in directory.partitions}
    missing = sorted(set(names) - here)
    if missing:
        raise AdoptionRefusedError([f"{directory.path} has no partition of {', '.join(missing)}"])
    chosen = FoundDirectory(
        path=directory.path,
        identity=directory.identity,
        has_metadata=False,
        partitions=tuple(partition for partition in directory.partitions if partition.topic in names),
        cleaned=frozenset(),
        strays=(),
        left_alone=(),
    )
    lacking = sorted({partition.topic for partition in chosen.partitions if partition.topic_id is None})
    if lacking:
        raise AdoptionRefusedError([f"{', '.join(lacking)}: no partition.metadata with the topic's id"])
    if directory.identity is not None and not directory.has_metadata:
        raise AdoptionRefusedError(
            [
                f"{directory.path} is formatted, but does not have the cluster metadata (__cluster_metadata-0). If "
                "another directory of log.dirs or metadata.log.dir has it, name that directory. If the controllers of "
                "a cluster have it, start the broker and create the topics instead"
            ]
        )
    if directory.identity is not None and directory.identity.directory_id is None:
        raise StorageError(
            f"{directory.path}: meta.properties has no directory.id; start a broker of Kafka 3.7 or later to get one"
        )
    return plan_adoption([chosen], wishes, random_uuid, uuid_text, INTERNAL_TOPICS)
