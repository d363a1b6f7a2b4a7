"""The metadata image: the state that the records of ``__cluster_metadata-0`` make, for handlers to read.

Pure. Owns: topics, partitions, configs, registrations, feature levels, producer ids, quotas, ACLs, delegation tokens,
and every other record unchanged. Never does: I/O, reading a clock, changing by itself: :mod:`.replay` changes it,
record by record.
Types with thousands of objects are tuples, since a start makes each partition several times. Invariant:
``topics_by_name`` and ``topics_by_id`` hold the same topics. Source: Kafka's MetadataImage and its parts.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum
from typing import NamedTuple

from odradek.protocol.messages.structure import ZERO_UUID, Message
from odradek.protocol.security.acl import Acl
from odradek.protocol.security.scram_credential import ScramCredential

from .delegation_tokens import DelegationToken


class BrokerState(Enum):
    """Kafka's names and numbers."""

    STARTING = 1
    """Not registered yet."""
    RECOVERY = 2
    """Registered and fenced: it catches up, and opens its logs."""
    RUNNING = 3
    PENDING_CONTROLLED_SHUTDOWN = 6
    """It has asked the controllers to move its leaderships."""
    SHUTTING_DOWN = 7


SHOWN_CHARACTERS = 300
"""The number of characters of a record that an error shows."""


class MetadataCorruption(Exception):  # noqa: N818 - named for the state, not for an error
    """A record of the metadata log contradicts those before it."""


def problem_of(record: Message, error: Exception) -> str:
    """The problem of a record that :func:`replay` refused, for the error that ends the start."""
    what = str(error) if isinstance(error, MetadataCorruption) else f"{type(error).__name__}: {error}"
    shown = repr(record)
    return f"{what}; the record is {shown[:SHOWN_CHARACTERS]}{'...' if len(shown) > SHOWN_CHARACTERS else ''}"


NO_LEADER = -1
DIRECTORY_MIGRATING = ZERO_UUID
DIRECTORY_UNASSIGNED = bytes(15) + b"\x01"
DIRECTORY_LOST = bytes(15) + b"\x02"


class ResourceType(IntEnum):
    """The type of a config's resource: the numbers of ``ConfigResource.Type``."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class LeaderRecoveryState(IntEnum):
    """Whether a partition's leader may have lost acknowledged records (KIP-704)."""

    RECOVERED = 0
    RECOVERING = 1


class SecurityProtocol(IntEnum):
    """The protocol of a listener: the numbers of ``SecurityProtocol``."""

    PLAINTEXT = 0
    SSL = 1
    SASL_PLAINTEXT = 2
    SASL_SSL = 3


class Endpoint(NamedTuple):
    """The address of a broker's listener. ``host`` is never empty, ``port`` never 0."""

    name: str
    host: str
    port: int
    security_protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT


class BrokerRegistration(NamedTuple):
    """A broker's registration. ``epoch`` is the offset of its RegisterBroker record."""

    broker_id: int
    epoch: int
    incarnation_id: bytes
    endpoints: Mapping[str, Endpoint]
    features: Mapping[str, tuple[int, int]]
    rack: str | None
    fenced: bool
    in_controlled_shutdown: bool
    directories: tuple[bytes, ...]
    cordoned_directories: tuple[bytes, ...] = ()
    has_reported_cordoned: bool = False
    """Whether the broker has sent its list of cordoned directories. An empty list differs from no list."""
    is_migrating_zk_broker: bool = False

    @property
    def is_active(self) -> bool:
        """Whether the broker may lead partitions."""
        return not self.fenced and not self.in_controlled_shutdown

    @property
    def is_cordoned(self) -> bool:
        """Whether all its directories are closed to new partitions (KIP-1066)."""
        return bool(self.directories) and set(self.directories) <= set(self.cordoned_directories)

    def has_online_directory(self, directory: bytes) -> bool:
        """Whether a replica in this directory is served (``DirectoryId.isOnline``)."""
        if directory in (DIRECTORY_MIGRATING, DIRECTORY_UNASSIGNED):
            return True
        if directory == DIRECTORY_LOST:
            return False
        # A broker from before directory ids (metadata.version below 3.7) has none.
        return not self.directories or directory in self.directories


class PartitionImage(NamedTuple):
    """One partition. ``directories`` has one id for each of ``replicas``."""

    replicas: tuple[int, ...]
    directories: tuple[bytes, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    leader_recovery_state: LeaderRecoveryState = LeaderRecoveryState.RECOVERED
    eligible_leader_replicas: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    adding_replicas: tuple[int, ...] = ()
    removing_replicas: tuple[int, ...] = ()

    @property
    def has_leader(self) -> bool:
        """Whether a broker leads it."""
        return self.leader != NO_LEADER

    @property
    def has_preferred_leader(self) -> bool:
        """Whether the first replica leads it."""
        return self.leader == self.replicas[0]

    @property
    def is_reassigning(self) -> bool:
        """Whether replicas are being moved."""
        return bool(self.adding_replicas or self.removing_replicas)

    def directory_of(self, broker_id: int) -> bytes:
        """The directory id of a broker's replica."""
        return self.directories[self.replicas.index(broker_id)]


@dataclass(slots=True)
class TopicImage:
    """One topic and its partitions by index."""

    name: str
    topic_id: bytes
    partitions: dict[int, PartitionImage] = field(default_factory=dict)

    def copy(self) -> "TopicImage":
        """A copy of the topic in its present state."""
        return TopicImage(self.name, self.topic_id, dict(self.partitions))


class KeptRecord(NamedTuple):
    """A record of a type that is not served yet. A snapshot writes it back unchanged."""

    message: Message
    version: int


Replica = tuple[bytes, int]
"""Topic id and partition index of a replica of one broker."""
ConfigResource = tuple[int, str]
"""Resource type and name."""
ClientQuotaEntity = tuple[tuple[str, str | None], ...]
"""Pairs of entity type and name (None: the default), sorted by type."""


PARTS = (
    "topics_by_name",
    "topics_by_id",
    "configs",
    "brokers",
    "features",
    "client_quotas",
    "acls",
    "delegation_tokens",
    "scram_credentials",
    "kept",
)
"""The dicts of an image."""


@dataclass(slots=True)
class MetadataImage:
    """The state after the records up to ``last_offset``."""

    topics_by_name: dict[str, TopicImage] = field(default_factory=dict)
    topics_by_id: dict[bytes, TopicImage] = field(default_factory=dict)
    configs: dict[ConfigResource, dict[str, str]] = field(default_factory=dict)
    brokers: dict[int, BrokerRegistration] = field(default_factory=dict)
    features: dict[str, int] = field(default_factory=dict)
    client_quotas: dict[ClientQuotaEntity, dict[str, float]] = field(default_factory=dict)
    acls: dict[bytes, Acl] = field(default_factory=dict)
    """ACL id -> ACL."""
    delegation_tokens: dict[str, DelegationToken] = field(default_factory=dict)
    """Token id -> token."""
    scram_credentials: dict[tuple[str, int], ScramCredential] = field(default_factory=dict)
    """(User, type of the mechanism in :mod:`odradek.protocol.security.scram`) -> credential."""
    next_producer_id: int = 0
    kept: dict[tuple[object, ...], KeptRecord] = field(default_factory=dict)
    """Records of types that the broker does not use (controllers), by their keys."""
    last_offset: int = -1
    last_epoch: int = 0
    last_timestamp_ms: int = -1
    shared: set[str] = field(default_factory=set, compare=False, repr=False)
    """Names of the parts that a view shares. :meth:`own` copies such a part before it changes."""

    def view(self) -> "MetadataImage":
        """The image in its present state; later changes do not affect the view. Takes constant time."""
        self.shared.update(PARTS)
        return replace(self, shared=set(PARTS))

    def own(self, *parts: str) -> None:
        """Copies these parts if a view shares them. Call it before a part changes. 50 ns a topic."""
        for part in self.shared.intersection(parts):
            setattr(self, part, dict(getattr(self, part)))
            self.shared.discard(part)

    @property
    def metadata_version(self) -> int:
        """The finalised ``metadata.version``; record versions follow it."""
        return self.features["metadata.version"]

    @property
    def is_empty(self) -> bool:
        """Whether the log has no records yet, as in a new directory."""
        return not (
            self.features
            or self.topics_by_id
            or self.configs
            or self.brokers
            or self.client_quotas
            or self.acls
            or self.delegation_tokens
            or self.scram_credentials
            or self.kept
        )

    def config_of(self, resource_type: int, name: str) -> Mapping[str, str]:
        """The configs set for a resource; may be empty."""
        return self.configs.get((resource_type, name), {})

    def broker_configs(self, node_id: int) -> Mapping[str, str]:
        """The dynamic configs of one broker."""
        return self.config_of(ResourceType.BROKER, str(node_id))

    def broker_config_layers(self, node_id: int) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """The dynamic configs of all brokers, then those of one broker, which override them."""
        return self.config_of(ResourceType.BROKER, ""), self.broker_configs(node_id)

    def partition(self, topic: str, index: int) -> PartitionImage | None:
        """One partition, or None."""
        found = self.topics_by_name.get(topic)
        return None if found is None else found.partitions.get(index)

    def endpoint(self, broker_id: int, listener_name: str) -> Endpoint | None:
        """The endpoint of a broker's listener, unless the broker is fenced."""
        broker = self.brokers.get(broker_id)
        return None if broker is None or broker.fenced else broker.endpoints.get(listener_name)

    def address(self, broker_id: int, listener_name: str) -> tuple[str, int] | str:
        """Host and port of :meth:`endpoint` for another broker, or why there is none, for the log."""
        endpoint = self.endpoint(broker_id, listener_name)
        if endpoint is not None:
            return endpoint.host, endpoint.port
        broker = self.brokers.get(broker_id)
        if broker is None or broker.fenced:
            return "it is fenced or not registered"
        return f"it has no listener {listener_name}: inter.broker.listener.name must be a listener of every broker"

    def kept_records(self, kind: type[Message]) -> Iterator[tuple[Message, int]]:
        """The kept records of one class with their versions, in the order of the log."""
        for kept in self.kept.values():
            if type(kept.message) is kind:
                yield kept.message, kept.version

    def alive_endpoints(self, listener_name: str) -> Iterator[tuple[BrokerRegistration, Endpoint]]:
        """The brokers that clients of a listener can reach, by id."""
        for broker_id in sorted(self.brokers):
            endpoint = self.endpoint(broker_id, listener_name)
            if endpoint is not None:
                yield self.brokers[broker_id], endpoint


@dataclass(slots=True)
class MetadataDelta:
    """The changes of a run of records, for subscribers."""

    drafts: dict[bytes, TopicImage] = field(default_factory=dict)
    """Topic id -> new or changed topics. They are put into the image at the end of the run (``publish``)."""
    created_topics: dict[bytes, TopicImage] = field(default_factory=dict)
    """Topic id -> topic."""
    deleted_topics: dict[bytes, TopicImage] = field(default_factory=dict)
    """Topic id -> the last state of the topic."""
    changed_partitions: dict[tuple[bytes, int], None] = field(default_factory=dict)
    """(Topic id, index) of partitions that are new or have another leader, epoch or replica set, in order."""
    changed_configs: dict[ConfigResource, None] = field(default_factory=dict)
    changed_brokers: dict[int, None] = field(default_factory=dict)
    changed_features: dict[str, None] = field(default_factory=dict)
    changed_acls: dict[bytes, None] = field(default_factory=dict)
    """Ids of ACLs that are new or removed."""
    changed_tokens: dict[str, None] = field(default_factory=dict)
    """Ids of delegation tokens that are new, renewed or removed."""
    changed_scram: dict[tuple[str, int], None] = field(default_factory=dict)
    """(User, type of the mechanism) of SCRAM credentials that are new, changed or removed."""
    changed_client_quotas: dict[ClientQuotaEntity, None] = field(default_factory=dict)
