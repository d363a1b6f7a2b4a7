"""Plans an adoption from the contents of the directories: topics, ids, partition counts, epochs, notes for the user.

Pure. Owns: the decisions of an adoption. Invariants: a value is made up only if it can't be read; a partition count
includes every partition found, and that of ``__consumer_offsets`` fits every group found; each made-up value has a
note; data is kept forever unless the user sets a config. Source: KIP-858 (directories), GroupCoordinatorService
.partitionFor and TransactionStateManager.partitionFor (hash of the key modulo the number of partitions).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from types import MappingProxyType
from typing import TypeVar

from odradek.protocol.names.topics import OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from odradek.storage.files.file_names import MAX_NAME_LENGTH

from ...coordinator.partitioning import partition_for
from .bounds import bound_problems
from .found import FoundDirectory, FoundIdentity, FoundPartition

Said = TypeVar("Said", int, str)

DEFAULT_NODE_ID = 1
USUAL_PARTITIONS = 50
"""Kafka's default of ``offsets.topic.num.partitions`` and ``transaction.state.log.num.partitions``."""
MOST_PARTITIONS = 10_000
HASHED_TOPICS = (OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC)
KEPT_FOR_EVER: Mapping[str, str] = {"retention.ms": "-1", "retention.bytes": "-1"}
"""The configs of adopted topics, whose own configs are lost: nothing is deleted until the user sets other values."""


class AdoptionRefusedError(Exception):
    """The directories can't be adopted as they are. ``problems``: each reason, with what to do about it."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = list(problems)


@dataclass(frozen=True, slots=True)
class AdoptionWishes:
    """The user's options on the command line. ``configs`` and ``partition_counts`` have the topic as key."""

    node_id: int | None = None
    cluster_id: str | None = None
    set_metadata_aside: bool = False
    adopt_strays: bool = False
    configs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    kept_configs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The configs that restored topics had, possibly with values that no request could set today. Such a topic has
    these and those of ``configs``, and no others."""
    partition_counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AdoptedPartition:
    """A partition to adopt. ``leader_epoch``: the leader epoch that it gets in the metadata."""

    path: str
    directory: int
    """The index of its log directory."""
    leader_epoch: int
    lacks_topic_id: bool


@dataclass(frozen=True, slots=True)
class AdoptedTopic:
    """A topic to adopt, with ``partition_count`` partitions, of which ``partitions`` were found."""

    name: str
    topic_id: bytes
    partition_count: int
    partitions: Mapping[int, AdoptedPartition]
    configs: Mapping[str, str] | None
    """None for internal topics: they get the same configs as at their creation by the broker."""

    @property
    def missing(self) -> list[int]:
        """The partitions that were not found in any directory."""
        return [index for index in range(self.partition_count) if index not in self.partitions]


@dataclass(frozen=True, slots=True)
class AdoptionPlan:
    """The metadata of an adoption, to be written or only served, and the notes for the user (``remarks``)."""

    cluster_id: str
    node_id: int
    directory_ids: tuple[bytes, ...]
    """In the order of the directories."""
    topics: tuple[AdoptedTopic, ...]
    remarks: tuple[str, ...]


def plan_adoption(
    directories: Sequence[FoundDirectory],
    wishes: AdoptionWishes,
    random_uuid: Callable[[], bytes],
    uuid_text: Callable[[bytes], str],
    internal_topics: Iterable[str],
    committed_topic_ids: Mapping[str, bytes] = MappingProxyType({}),
) -> AdoptionPlan:
    """Plans the adoption. Raises AdoptionRefusedError with every problem.

    ``random_uuid`` makes missing cluster, directory and topic ids. ``committed_topic_ids``: topic -> the id in
    committed offsets, used for a topic without an id.
    """
    problems: list[str] = []
    remarks: list[str] = []
    _check_metadata(directories, wishes, problems, remarks)
    node_id = _one_of(directories, "node id", lambda identity: identity.node_id, wishes.node_id, problems)
    cluster_id = _one_of(directories, "cluster id", lambda identity: identity.cluster_id, wishes.cluster_id, problems)
    directory_ids = _directory_ids(directories, random_uuid, uuid_text, problems)
    found = _by_topic(directories, problems)
    _strays(directories, wishes, found, problems, remarks)
    topics = [
        _topic(
            name,
            partitions,
            wishes,
            committed_topic_ids,
            random_uuid,
            uuid_text,
            frozenset(internal_topics),
            problems,
            remarks,
        )
        for name, partitions in sorted(found.items())
    ]
    if not topics and not problems:
        problems.append(
            "no directory of a partition (<topic>-<number>) was found in " + _names(d.path for d in directories)
        )
        if any(directory.strays for directory in directories):
            problems.append("all partitions there are strays (renamed to -stray): --adopt-strays serves them")
    for directory in directories:
        _add_remarks(directory, frozenset(internal_topics), wishes, remarks)
    unknown = sorted((wishes.configs.keys() | wishes.partition_counts.keys()) - found.keys())
    problems += [f"--config or --partitions names topic {name}, but no partition of it was found" for name in unknown]
    if problems:
        raise AdoptionRefusedError(problems)
    return AdoptionPlan(
        cluster_id=uuid_text(random_uuid()) if cluster_id is None else cluster_id,
        node_id=DEFAULT_NODE_ID if node_id is None else node_id,
        directory_ids=tuple(directory_ids),
        topics=tuple(topics),
        remarks=tuple(remarks),
    )


def _check_metadata(
    directories: Sequence[FoundDirectory], wishes: AdoptionWishes, problems: list[str], remarks: list[str]
) -> None:
    for directory in directories:
        if not directory.has_metadata:
            continue
        if wishes.set_metadata_aside:
            remarks.append(f"{directory.path}: its cluster metadata is renamed and not read")
        else:
            problems.append(
                f"{directory.path} has its cluster metadata (__cluster_metadata-0): `odradek serve --override "
                f"log.dirs={directory.path}` serves it as it is; --set-metadata-aside adopts it without that metadata"
            )


def _one_of(
    directories: Sequence[FoundDirectory],
    what: str,
    of: Callable[[FoundIdentity], Said | None],
    wished: Said | None,
    problems: list[str],
) -> Said | None:
    """The value in the meta.properties files, or ``wished`` if none has it. Adds a problem if the files differ from
    each other or from ``wished``.
    """
    said: dict[Said, str] = {}
    for directory in directories:
        value = None if directory.identity is None else of(directory.identity)
        if value is not None:
            said.setdefault(value, directory.path)
    if len(said) > 1:
        each = ", ".join(f"{path} has {value}" for value, path in said.items())
        problems.append(f"the directories are of different brokers: the {what} differs in meta.properties ({each})")
    for value, path in said.items():
        if wished not in (None, value):
            problems.append(f"{path}/meta.properties has {what} {value}, not {wished}: leave the option out")
        return value
    return wished


def _directory_ids(
    directories: Sequence[FoundDirectory],
    random_uuid: Callable[[], bytes],
    uuid_text: Callable[[bytes], str],
    problems: list[str],
) -> list[bytes]:
    ids: dict[bytes, str] = {}
    for directory in directories:
        directory_id = None if directory.identity is None else directory.identity.directory_id
        if directory_id is None:
            directory_id = random_uuid()
        if directory_id in ids:
            problems.append(
                f"{ids[directory_id]} and {directory.path} have the same directory.id {uuid_text(directory_id)}: one "
                "is a copy of the other; give only one"
            )
        ids[directory_id] = directory.path
    return list(ids)


Located = tuple[int, FoundPartition]
"""(index of the log directory, partition)."""


def _by_topic(directories: Sequence[FoundDirectory], problems: list[str]) -> dict[str, dict[int, Located]]:
    """The partitions by topic and number. Adds a problem for a partition in two directories."""
    found: dict[str, dict[int, Located]] = defaultdict(dict)
    for number, directory in enumerate(directories):
        for partition in directory.partitions:
            known = found[partition.topic].get(partition.index)
            if known is not None:
                problems.append(
                    f"{partition.topic}-{partition.index} exists twice, as {known[1].path} and "
                    f"{partition.path}: move away the one that should not be served"
                )
            found[partition.topic][partition.index] = (number, partition)
    return found


def _strays(
    directories: Sequence[FoundDirectory],
    wishes: AdoptionWishes,
    found: dict[str, dict[int, Located]],
    problems: list[str],
    remarks: list[str],
) -> None:
    """Adds the stray directories to ``found`` with ``adopt_strays``; otherwise only adds a remark about each."""
    taken: dict[tuple[str, int], str] = {}
    for number, directory in enumerate(directories):
        for stray in directory.strays:
            key, name = (stray.topic, stray.index), f"{stray.topic}-{stray.index}"
            left = f"{stray.path}: a stray, not served"
            if key in taken:
                problems.append(
                    f"{stray.path} and {taken[key]} are both strays of {name}: move away the one that should not "
                    "be served"
                )
            elif stray.index in found.get(stray.topic, {}):
                remarks.append(f"{left}, because {name} exists in another directory")
            elif len(PurePath(stray.path).name) >= MAX_NAME_LENGTH:
                remarks.append(f"{left}: the topic's name is cut off; to serve it, rename it to <topic>-{stray.index}")
            elif wishes.adopt_strays:
                taken[key] = stray.path
                remarks.append(f"{stray.path}: a stray; it is served as {name}")
            else:
                remarks.append(f"{left}; --adopt-strays serves it as {name}")
            if taken.get(key) == stray.path:
                found[stray.topic][stray.index] = (number, stray)


def _topic(
    name: str,
    found: Mapping[int, Located],
    wishes: AdoptionWishes,
    committed_topic_ids: Mapping[str, bytes],
    random_uuid: Callable[[], bytes],
    uuid_text: Callable[[bytes], str],
    internal_topics: frozenset[str],
    problems: list[str],
    remarks: list[str],
) -> AdoptedTopic:
    ids: dict[bytes, list[int]] = defaultdict(list)
    for index, (_, partition) in sorted(found.items()):
        problems += bound_problems(partition)
        if partition.topic_id is not None:
            ids[partition.topic_id].append(index)
    if len(ids) > 1:
        each = ", ".join(f"{uuid_text(topic_id)} in {_numbers(indexes)}" for topic_id, indexes in ids.items())
        problems.append(
            f"topic {name}: its directories belong to different topics of that name ({each}): move away those that "
            "should not be served"
        )
    elif name in committed_topic_ids and not ids:
        ids[committed_topic_ids[name]] = []
    elif not ids:
        remarks.append(f"topic {name}: the disks have no topic id (Kafka before 2.8); it gets a new one")
    topic = AdoptedTopic(
        name=name,
        topic_id=next(iter(ids), None) or random_uuid(),
        partition_count=_partition_count(name, found, wishes, problems, remarks),
        partitions={
            index: AdoptedPartition(
                partition.path, number, max(partition.leader_epoch, 0), lacks_topic_id=partition.topic_id is None
            )
            for index, (number, partition) in sorted(found.items())
        },
        configs=_configs(name, wishes, internal_topics),
    )
    if topic.missing and name not in HASHED_TOPICS:
        remarks.append(
            f"topic {name}: partition {_numbers(topic.missing)} of {topic.partition_count} is in none of the "
            "directories; it has no leader"
        )
    return topic


def _configs(name: str, wishes: AdoptionWishes, internal_topics: frozenset[str]) -> Mapping[str, str] | None:
    """The configs of a topic; None for an internal topic of which nothing is known."""
    given = wishes.configs.get(name)
    if name in wishes.kept_configs:
        return {**wishes.kept_configs[name], **(given or {})}
    return given if name in internal_topics else {**KEPT_FOR_EVER, **(given or {})}


def _partition_count(
    name: str, found: Mapping[int, Located], wishes: AdoptionWishes, problems: list[str], remarks: list[str]
) -> int:
    """The partition count of a topic: from the options; for internal topics from the keys in their records; else from
    the highest partition found.
    """
    lowest = max(found) + 1
    wished = wishes.partition_counts.get(name)
    if wished is not None and wished < lowest:
        problems.append(
            f"--partitions {name}={wished}: partition {lowest - 1} was found, so there are at least {lowest}"
        )
    if name not in HASHED_TOPICS:
        return wished or lowest
    keys = {index: partition.keys for index, (_, partition) in found.items()}
    fitting = [count for count in range(lowest, MOST_PARTITIONS) if _fits(keys, count)]
    if wished is not None:
        if wished not in fitting:
            problems.append(f"--partitions {name}={wished}: its keys do not fit this number of partitions")
        return wished
    if not fitting:
        problems.append(
            f"topic {name}: its keys fit no number of partitions. Was a directory renamed, or the "
            f"number of partitions changed? Set it with --partitions {name}=NUMBER"
        )
        return lowest
    count = USUAL_PARTITIONS if USUAL_PARTITIONS in fitting and len(found) < lowest else fitting[0]
    if len(found) < count:
        missing = _numbers([index for index in range(count) if index not in found])
        remarks.append(
            f"topic {name}: {len(found)} of {count} partitions were found; {missing} begin empty"
            + ("" if any(keys.values()) else f" (the number is a guess: --partitions {name}=NUMBER sets another)")
        )
    return count


def _fits(keys: Mapping[int, frozenset[str]], count: int) -> bool:
    """Whether every key is in the right partition if there are ``count`` partitions."""
    return all(partition_for(key, count) == index for index, of_partition in keys.items() for key in of_partition)


def _add_remarks(
    directory: FoundDirectory, internal_topics: frozenset[str], wishes: AdoptionWishes, remarks: list[str]
) -> None:
    """Adds the remarks about a directory."""
    if directory.identity is None:
        remarks.append(f"{directory.path}: meta.properties is missing; it gets a new directory id")
    elif directory.identity.version == 0:
        remarks.append(f"{directory.path}: meta.properties is of a ZooKeeper cluster (version 0); it becomes version 1")
    if directory.left_alone:
        remarks.append(
            f"{directory.path}: {', '.join(directory.left_alone)}: unfinished copies, not served; to have one served, "
            "rename it to <topic>-<number> while no broker runs"
        )
    compacted = directory.cleaned | {partition.topic for partition in directory.partitions if partition.has_gaps}
    for topic in sorted(compacted - internal_topics):
        if "cleanup.policy" not in wishes.configs.get(topic, {}):
            why = "it has a cleaner checkpoint" if topic in directory.cleaned else "offsets are missing"
            remarks.append(
                f"topic {topic} seems to be a compacted topic ({why}). It is not compacted any further unless you set "
                f"--config {topic}:cleanup.policy=compact"
            )


def _numbers(numbers: Sequence[int]) -> str:
    """Numbers as text with ranges, such as ``0-3, 7``."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def _names(paths: Iterable[str]) -> str:
    return ", ".join(paths)
