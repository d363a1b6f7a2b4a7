"""Random histories of a cluster's metadata as records, valid for Kafka's own classes: each follows from those before.

    history = MetadataHistory(random.Random(seed))
    for record, version in history.records(400): ...

Has every record type of Kafka 4.4.0 except the markers of metadata transactions and NoOp, which the log writes.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from odradek.broker.metadata.image.features import record_version
from odradek.protocol.messages import metadata_records as records
from odradek.protocol.messages.structure import Message

ELR_FROM = 23
DIRECTORIES_FROM = 17
CORDONED_FROM = 30
CONTROLLERS_FROM = 15
UNREGISTERED_CONTROLLERS_FROM = 33
SCRAM_FROM = 11
TOKENS_FROM = 14
NAMES = ("alpha", "beta", "gamma", "δ", "client.id", "")


@dataclass(slots=True)
class _KnownBroker:
    epoch: int
    directories: list[bytes]


@dataclass(slots=True)
class _KnownTopic:
    name: str
    partitions: dict[int, list[int]] = field(default_factory=dict)


class MetadataHistory:
    """A cluster that changes at random. The same random source makes the same records."""

    def __init__(self, chance: random.Random, metadata_version: int = 30) -> None:
        """``metadata_version``: the first one. It may rise during the history, up to 33."""
        self.metadata_version = metadata_version
        self._chance = chance
        self._topics: dict[bytes, _KnownTopic] = {}
        self._brokers: dict[int, _KnownBroker] = {}
        self._acls: list[bytes] = []
        self._scram: list[tuple[str, int]] = []
        self._tokens: list[str] = []
        self._controllers: set[int] = set()
        self._next_producer_id = 0
        self._has_elr = False

    def records(self, count: int) -> Iterator[tuple[Message, int]]:
        """At least `count` records, each with the record version for the current metadata.version."""
        made = 0
        yield records.FeatureLevelRecord("metadata.version", self.metadata_version), 0
        while made < count:
            for record in self._chance.choice(_STEPS)(self):
                made += 1
                yield record, record_version(record, self.metadata_version)

    def _uuid(self) -> bytes:
        return bytes([self._chance.randrange(1, 200)]) + self._chance.randbytes(15)

    def _some(self, items: list[int]) -> list[int]:
        return [one for one in items if self._chance.random() < 0.6]

    # Topics --------------------------------------------------------------------

    def _create_topic(self) -> Iterator[Message]:
        name = f"{self._chance.choice(NAMES)}-{self._chance.randrange(10_000)}"
        if any(topic.name == name for topic in self._topics.values()):
            return
        topic_id = self._uuid()
        topic = self._topics[topic_id] = _KnownTopic(name)
        yield records.TopicRecord(name, topic_id)
        for index in range(self._chance.randrange(1, 5)):
            yield self._partition(topic_id, topic, index)

    def _add_partition(self) -> Iterator[Message]:
        if self._topics:
            topic_id = self._chance.choice(list(self._topics))
            topic = self._topics[topic_id]
            yield self._partition(topic_id, topic, len(topic.partitions))

    def _partition(self, topic_id: bytes, topic: _KnownTopic, index: int) -> Message:
        replicas = topic.partitions[index] = self._chance.sample(range(5), self._chance.randrange(1, 4))
        record = records.PartitionRecord(
            index, topic_id, replicas=replicas, isr=replicas[:1], leader=replicas[0], leader_epoch=0, partition_epoch=0
        )
        if self.metadata_version >= DIRECTORIES_FROM:
            record.directories = [self._uuid() for _ in replicas]
        return record

    def _change_partition(self) -> Iterator[Message]:
        if not self._topics:
            return
        topic_id = self._chance.choice(list(self._topics))
        partitions = self._topics[topic_id].partitions
        index = self._chance.choice(list(partitions))
        replicas = partitions[index]
        change = records.PartitionChangeRecord(index, topic_id)
        kind = self._chance.randrange(4)
        if kind == 0:
            change.isr, change.leader = self._some(replicas), self._chance.choice([-1, *replicas])
        elif kind == 1:
            change.leader, change.leader_recovery_state = replicas[0], self._chance.randrange(2)
            change.isr = [replicas[0]]
        elif kind == 2:
            new = self._chance.sample(range(5), 3)
            change.replicas, change.isr = new, new[:1]
            change.adding_replicas, change.removing_replicas = self._some(new), self._some(replicas)
            if self.metadata_version >= DIRECTORIES_FROM:
                change.directories = [self._uuid() for _ in new]
            partitions[index] = new
        elif self._has_elr:
            change.isr, change.eligible_leader_replicas = [], self._some(replicas)
            change.last_known_elr = self._some(replicas)
        else:
            change.isr = replicas
        yield change

    def _clear_elr(self) -> Iterator[Message]:
        if self._has_elr and self._topics:
            yield records.ClearElrRecord(self._chance.choice(["", *(t.name for t in self._topics.values())]))

    def _remove_topic(self) -> Iterator[Message]:
        if len(self._topics) > 3:
            topic_id = self._chance.choice(list(self._topics))
            del self._topics[topic_id]
            yield records.RemoveTopicRecord(topic_id)

    def _config(self) -> Iterator[Message]:
        kind, name = self._chance.choice(
            [(4, ""), (4, "1"), (16, "metrics"), (32, "group"), *((2, t.name) for t in self._topics.values())]
        )
        value = None if self._chance.random() < 0.3 else str(self._chance.randrange(9))
        yield records.ConfigRecord(kind, name, self._chance.choice(("a.b", "c.d", "e")), value)

    # Brokers and controllers -----------------------------------------------------

    def _register_broker(self) -> Iterator[Message]:
        broker_id, epoch = self._chance.randrange(5), self._chance.randrange(1 << 40)
        directories = [self._uuid() for _ in range(self._chance.randrange(1, 3))]
        with_directories = self.metadata_version >= DIRECTORIES_FROM
        self._brokers[broker_id] = _KnownBroker(epoch, directories if with_directories else [])
        record = records.RegisterBrokerRecord(
            broker_id=broker_id,
            incarnation_id=self._uuid(),
            broker_epoch=epoch,
            end_points=[records.RegisterBrokerRecord.BrokerEndpoint("PLAINTEXT", "localhost", 9092, 0)],
            features=[records.RegisterBrokerRecord.BrokerFeature("metadata.version", 7, 30)],
            rack=self._chance.choice((None, "r1")),
            fenced=self._chance.random() < 0.5,
            in_controlled_shutdown=self._chance.random() < 0.2,
        )
        if with_directories:
            record.log_dirs = directories
        if self.metadata_version >= CORDONED_FROM and self._chance.random() < 0.3:
            record.cordoned_log_dirs = directories[:1]
        yield record

    def _change_broker(self) -> Iterator[Message]:
        if not self._brokers:
            return
        broker_id = self._chance.choice(list(self._brokers))
        broker = self._brokers[broker_id]
        kind = self._chance.randrange(6)
        if kind == 0:
            yield records.FenceBrokerRecord(broker_id, broker.epoch)
        elif kind == 1:
            yield records.UnfenceBrokerRecord(broker_id, broker.epoch)
        elif kind == 2:
            yield records.UnregisterBrokerRecord(broker_id, broker.epoch)
            del self._brokers[broker_id]
        elif kind == 3 and broker.directories:
            broker.directories = [self._uuid() for _ in range(2)]
            yield records.BrokerRegistrationChangeRecord(broker_id, broker.epoch, log_dirs=broker.directories)
        elif kind == 4 and self.metadata_version >= CORDONED_FROM:
            cordoned = self._chance.choice(([], broker.directories[:1]))
            yield records.BrokerRegistrationChangeRecord(broker_id, broker.epoch, cordoned_log_dirs=cordoned)
        else:
            fenced, stopping = self._chance.choice((-1, 1)), self._chance.randrange(2)
            yield records.BrokerRegistrationChangeRecord(
                broker_id, broker.epoch, fenced=fenced, in_controlled_shutdown=stopping
            )

    def _register_controller(self) -> Iterator[Message]:
        if self.metadata_version >= CONTROLLERS_FROM:
            kind = records.RegisterControllerRecord
            controller_id = self._chance.randrange(3)
            if controller_id in self._controllers and self.metadata_version >= UNREGISTERED_CONTROLLERS_FROM:
                self._controllers.remove(controller_id)
                yield records.UnregisterControllerRecord(controller_id)
                return
            self._controllers.add(controller_id)
            yield kind(
                controller_id=controller_id,
                incarnation_id=self._uuid(),
                zk_migration_ready=self._chance.random() < 0.5,
                end_points=[kind.ControllerEndpoint("CONTROLLER", "localhost", 9093, 0)],
                features=[kind.ControllerFeature("metadata.version", 7, 30)],
            )

    def _feature(self) -> Iterator[Message]:
        kind = self._chance.randrange(4)
        if kind == 0 and self.metadata_version < 33:
            self.metadata_version = self._chance.randrange(self.metadata_version, 34)
            yield records.FeatureLevelRecord("metadata.version", self.metadata_version)
        elif kind == 1 and self.metadata_version >= ELR_FROM and not self._has_elr:
            self._has_elr = True
            yield records.FeatureLevelRecord("eligible.leader.replicas.version", 1)
        else:
            yield records.FeatureLevelRecord(self._chance.choice(("some.version", "x.version")), kind)

    # Records that are kept unchanged -------------------------------------------------------

    def _acl(self) -> Iterator[Message]:
        if self._acls and self._chance.random() < 0.4:
            yield records.RemoveAccessControlEntryRecord(self._acls.pop(self._chance.randrange(len(self._acls))))
        else:
            self._acls.append(self._uuid())
            yield records.AccessControlEntryRecord(
                self._acls[-1], 2, self._chance.choice(NAMES), 3, "User:u", "*", self._chance.randrange(2, 13), 3
            )

    def _scram_credential(self) -> Iterator[Message]:
        if self.metadata_version < SCRAM_FROM:
            return
        if self._scram and self._chance.random() < 0.4:
            user = self._scram.pop(self._chance.randrange(len(self._scram)))
            yield records.RemoveUserScramCredentialRecord(*user)
        else:
            user = self._chance.choice(NAMES), self._chance.randrange(1, 3)
            if user not in self._scram:
                self._scram.append(user)
            salt, stored_key, server_key = (self._chance.randbytes(16) for _ in range(3))
            yield records.UserScramCredentialRecord(*user, salt, stored_key, server_key, 4096)

    def _token(self) -> Iterator[Message]:
        if self.metadata_version < TOKENS_FROM:
            return
        if self._tokens and self._chance.random() < 0.4:
            yield records.RemoveDelegationTokenRecord(self._tokens.pop())
        else:
            self._tokens.append(self._chance.randbytes(4).hex())
            yield records.DelegationTokenRecord("User:o", "User:r", ["User:n"], 1, 3, 2, self._tokens[-1])

    def _quota(self) -> Iterator[Message]:
        kind = records.ClientQuotaRecord
        entity = [kind.EntityData("user", self._chance.choice(("u", None)))]
        if self._chance.random() < 0.5:
            entity.append(kind.EntityData("client-id", self._chance.choice(("c", None))))
        self._chance.shuffle(entity)
        remove = self._chance.random() < 0.3
        yield kind(entity, self._chance.choice(("producer_byte_rate", "request_percentage")), 7.5, remove)

    def _producer_ids(self) -> Iterator[Message]:
        self._next_producer_id += 1000
        yield records.ProducerIdsRecord(1, 7, self._next_producer_id)

    def _zk_migration(self) -> Iterator[Message]:
        yield records.ZkMigrationStateRecord(self._chance.randrange(5))


_STEPS: tuple[Callable[[MetadataHistory], Iterator[Message]], ...] = (
    *(MetadataHistory._create_topic,) * 3,
    *(MetadataHistory._change_partition,) * 4,
    *(MetadataHistory._config,) * 3,
    *(MetadataHistory._register_broker, MetadataHistory._change_broker) * 2,
    MetadataHistory._add_partition,
    MetadataHistory._clear_elr,
    MetadataHistory._remove_topic,
    MetadataHistory._register_controller,
    MetadataHistory._feature,
    MetadataHistory._acl,
    MetadataHistory._scram_credential,
    MetadataHistory._token,
    MetadataHistory._quota,
    MetadataHistory._producer_ids,
    MetadataHistory._zk_migration,
)
