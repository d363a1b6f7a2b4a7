"""Replaying metadata records: the only way to change the image, for loading and serving, and for records of a real
Kafka.

Pure. Owns: the effect of each record type. Never does: I/O, reading a clock, deciding. Invariant: every record type of
Kafka 4.3.1 has an entry in the tables below; a record that contradicts the image raises MetadataCorruption, as a
controller of Kafka's stops. Source: the ``replay`` methods of Kafka's Delta classes.
"""

from collections.abc import Callable
from typing import Any

from ...protocol.messages import metadata_records as records
from ...protocol.messages.structure import Message
from ..acls.acl import Acl
from .image import (
    DIRECTORY_MIGRATING,
    BrokerRegistration,
    ClientQuotaEntity,
    Endpoint,
    KeptRecord,
    LeaderRecoveryState,
    MetadataDelta,
    MetadataImage,
    PartitionImage,
    ResourceType,
    SecurityProtocol,
    TopicImage,
)

NO_LEADER_CHANGE = -2
FENCE, UNFENCE = 1, -1
SHOWN_CHARACTERS = 300
"""The number of characters of a record that an error shows."""


class MetadataCorruption(Exception):  # noqa: N818 - named for the state, not for an error
    """A record of the metadata log contradicts those before it."""


def replay(image: MetadataImage, record: Message, delta: MetadataDelta, version: int = 0) -> None:
    """Applies one record to the image, and adds the changes to ``delta``.

    ``version`` matters only for records that are kept unchanged. Raises MetadataCorruption.
    """
    if type(record) in _KEPT_BY:
        image.own("kept")
        image.kept[type(record).NAME, *_KEPT_BY[type(record)](record)] = KeptRecord(record, version)
    elif type(record) in _REMOVES:
        image.own("kept")
        kept_class, key = _REMOVES[type(record)]
        image.kept.pop((kept_class.NAME, *key(record)), None)
    else:
        _REPLAYS[type(record)](image, record, delta)


def replay_aside(image: MetadataImage, record: Message, delta: MetadataDelta, version: int = 0) -> None:
    """As :func:`replay`, but new or changed topics stay in ``delta.drafts`` until :func:`publish`.

    So a run of thousands of records can be replayed in slices, while readers see each topic either before or after the
    run. Raises MetadataCorruption.
    """
    if type(record) is records.TopicRecord:
        delta.drafts[record.topic_id] = _new_topic(image, record, delta)
    elif type(record) in (records.PartitionRecord, records.PartitionChangeRecord):
        topic_id: bytes = record.topic_id  # type: ignore[attr-defined]
        if topic_id not in delta.drafts:
            delta.drafts[topic_id] = _find_topic(image, topic_id).copy()
        put = _put_partition if type(record) is records.PartitionRecord else _change_partition
        put(delta.drafts[topic_id], record, delta)
    elif type(record) is records.RemoveTopicRecord and record.topic_id in delta.drafts:
        _remove_draft(image, record, delta)
    elif type(record) is records.ClearElrRecord and delta.drafts:
        _clear_elr_aside(image, record, delta)
    else:
        replay(image, record, delta, version)


def _remove_draft(image: MetadataImage, record: records.RemoveTopicRecord, delta: MetadataDelta) -> None:
    """A run of a followed log may hold a topic's whole life."""
    topic = delta.drafts.pop(record.topic_id)
    if delta.created_topics.pop(record.topic_id, None) is None:
        _remove_topic(image, record, delta)
        return
    for index in topic.partitions:
        delta.changed_partitions.pop((topic.topic_id, index), None)
    image.own("configs")
    if image.configs.pop((ResourceType.TOPIC, topic.name), None):
        delta.changed_configs[ResourceType.TOPIC, topic.name] = None


def _clear_elr_aside(image: MetadataImage, record: records.ClearElrRecord, delta: MetadataDelta) -> None:
    drafts = [topic for topic in delta.drafts.values() if record.topic_name in ("", topic.name)]
    for topic in drafts:
        cleared = _without_elr(topic)
        topic.partitions.update(cleared)
        delta.changed_partitions.update(((topic.topic_id, index), None) for index in cleared)
    if not drafts or not record.topic_name or record.topic_name in image.topics_by_name:
        _clear_elr(image, record, delta)


def publish(image: MetadataImage, delta: MetadataDelta) -> None:
    """Puts the drafts into the image, at the end of a run of :func:`replay_aside`. Costs 0.2 us a topic."""
    if delta.drafts:
        image.own("topics_by_name", "topics_by_id")
    for topic_id, topic in delta.drafts.items():
        image.topics_by_name[topic.name] = image.topics_by_id[topic_id] = topic
    delta.drafts.clear()


def _topic(image: MetadataImage, record: records.TopicRecord, delta: MetadataDelta) -> None:
    topic = _new_topic(image, record, delta)
    image.own("topics_by_name", "topics_by_id")
    image.topics_by_name[record.name] = image.topics_by_id[record.topic_id] = topic


def problem_of(record: Message, error: Exception) -> str:
    """The problem of a record that :func:`replay` refused, for the error that ends the start."""
    what = str(error) if isinstance(error, MetadataCorruption) else f"{type(error).__name__}: {error}"
    shown = repr(record)
    return f"{what}; the record is {shown[:SHOWN_CHARACTERS]}{'...' if len(shown) > SHOWN_CHARACTERS else ''}"


def _new_topic(image: MetadataImage, record: records.TopicRecord, delta: MetadataDelta) -> TopicImage:
    if not record.name or record.name in (".", "..") or "/" in record.name or "\0" in record.name:
        raise MetadataCorruption(f"{record.name!r} can't be a topic's name: its directories would not lie in log.dirs")
    if record.name in image.topics_by_name or record.topic_id in image.topics_by_id:
        raise MetadataCorruption(f"topic {record.name} with id {record.topic_id.hex()} exists already")
    topic = delta.created_topics[record.topic_id] = TopicImage(record.name, record.topic_id)
    return topic


def _remove_topic(image: MetadataImage, record: records.RemoveTopicRecord, delta: MetadataDelta) -> None:
    topic = _find_topic(image, record.topic_id)
    image.own("topics_by_name", "topics_by_id", "configs")
    del image.topics_by_id[topic.topic_id], image.topics_by_name[topic.name]
    if image.configs.pop((ResourceType.TOPIC, topic.name), None):
        delta.changed_configs[ResourceType.TOPIC, topic.name] = None
    if delta.created_topics.pop(topic.topic_id, None) is None:
        delta.deleted_topics[topic.topic_id] = topic
    for index in topic.partitions:
        delta.changed_partitions.pop((topic.topic_id, index), None)


def _find_topic(image: MetadataImage, topic_id: bytes) -> TopicImage:
    topic = image.topics_by_id.get(topic_id)
    if topic is None:
        raise MetadataCorruption(f"no topic has the id {topic_id.hex()}")
    return topic


def _partition(image: MetadataImage, record: records.PartitionRecord, delta: MetadataDelta) -> None:
    _put_partition(_find_topic(image, record.topic_id), record, delta)


def _put_partition(topic: TopicImage, record: Any, delta: MetadataDelta) -> None:
    if record.partition_id < 0:
        raise MetadataCorruption(f"topic {topic.name} has a partition {record.partition_id}")
    replicas = tuple(record.replicas)
    if record.directories and len(record.directories) != len(replicas):
        raise MetadataCorruption(f"{len(record.directories)} directories for {len(replicas)} replicas")
    topic.partitions[record.partition_id] = PartitionImage(
        replicas=replicas,
        directories=tuple(record.directories) or (DIRECTORY_MIGRATING,) * len(replicas),
        isr=tuple(record.isr),
        leader=record.leader,
        leader_epoch=record.leader_epoch,
        partition_epoch=record.partition_epoch,
        leader_recovery_state=LeaderRecoveryState(record.leader_recovery_state),
        eligible_leader_replicas=tuple(record.eligible_leader_replicas or ()),
        last_known_elr=tuple(record.last_known_elr or ()),
        adding_replicas=tuple(record.adding_replicas),
        removing_replicas=tuple(record.removing_replicas),
    )
    delta.changed_partitions[record.topic_id, record.partition_id] = None


def _partition_change(image: MetadataImage, record: records.PartitionChangeRecord, delta: MetadataDelta) -> None:
    _change_partition(_find_topic(image, record.topic_id), record, delta)


def _change_partition(topic: TopicImage, record: Any, delta: MetadataDelta) -> None:
    partition = topic.partitions.get(record.partition_id)
    if partition is None:
        raise MetadataCorruption(f"topic {topic.name} has no partition {record.partition_id}")
    topic.partitions[record.partition_id] = merge(partition, record)
    delta.changed_partitions[record.topic_id, record.partition_id] = None


def merge(partition: PartitionImage, record: records.PartitionChangeRecord) -> PartitionImage:
    """The partition after a change. Null fields keep their values. Every record that names a leader raises the leader
    epoch.
    """

    def changed(new: list[Any] | None, old: tuple[Any, ...]) -> tuple[Any, ...]:
        return old if new is None else tuple(new)

    leader_named = record.leader != NO_LEADER_CHANGE
    replicas = changed(record.replicas, partition.replicas)
    directories = changed(record.directories, partition.directories)
    if len(directories) != len(replicas):
        # In older versions a change of replicas has no directory ids.
        directories = (DIRECTORY_MIGRATING,) * len(replicas)
    recovery = record.leader_recovery_state
    return PartitionImage(
        replicas=replicas,
        directories=directories,
        isr=changed(record.isr, partition.isr),
        leader=record.leader if leader_named else partition.leader,
        leader_epoch=partition.leader_epoch + leader_named,
        partition_epoch=partition.partition_epoch + 1,
        leader_recovery_state=partition.leader_recovery_state if recovery < 0 else LeaderRecoveryState(recovery),
        eligible_leader_replicas=changed(record.eligible_leader_replicas, partition.eligible_leader_replicas),
        last_known_elr=changed(record.last_known_elr, partition.last_known_elr),
        adding_replicas=changed(record.adding_replicas, partition.adding_replicas),
        removing_replicas=changed(record.removing_replicas, partition.removing_replicas),
    )


def _clear_elr(image: MetadataImage, record: records.ClearElrRecord, delta: MetadataDelta) -> None:
    """Clears the ELRs of one topic, or of all topics if the name is empty."""
    if record.topic_name and record.topic_name not in image.topics_by_name:
        raise MetadataCorruption(f"no topic is named {record.topic_name}, whose ELRs are to be cleared")
    topics = [image.topics_by_name[record.topic_name]] if record.topic_name else image.topics_by_id.values()
    image.own("topics_by_name", "topics_by_id")
    for topic in list(topics):
        cleared = _without_elr(topic)
        if cleared:
            changed = TopicImage(topic.name, topic.topic_id, topic.partitions | cleared)
            image.topics_by_name[topic.name] = image.topics_by_id[topic.topic_id] = changed
            delta.changed_partitions.update(((topic.topic_id, index), None) for index in cleared)


def _without_elr(topic: TopicImage) -> dict[int, PartitionImage]:
    """The partitions that have an ELR, without it."""
    # Applied as a normal change, which raises the partition epoch (as in TopicsDelta.replay).
    change = records.PartitionChangeRecord(eligible_leader_replicas=[], last_known_elr=[])
    return {
        index: merge(partition, change)
        for index, partition in topic.partitions.items()
        if partition.eligible_leader_replicas or partition.last_known_elr
    }


def _config(image: MetadataImage, record: records.ConfigRecord, delta: MetadataDelta) -> None:
    resource = (record.resource_type, record.resource_name)
    image.own("configs")
    configs = dict(image.configs.get(resource, {}))  # a view or a snapshot may hold the old one
    if record.value is None:
        configs.pop(record.name, None)
    else:
        configs[record.name] = record.value
    if configs:
        image.configs[resource] = configs
    else:
        image.configs.pop(resource, None)
    delta.changed_configs[resource] = None


def _register_broker(image: MetadataImage, record: records.RegisterBrokerRecord, delta: MetadataDelta) -> None:
    image.own("brokers")
    image.brokers[record.broker_id] = BrokerRegistration(
        broker_id=record.broker_id,
        epoch=record.broker_epoch,
        incarnation_id=record.incarnation_id,
        endpoints={
            one.name: Endpoint(one.name, one.host, one.port, SecurityProtocol(one.security_protocol))
            for one in record.end_points
        },
        features={one.name: (one.min_supported_version, one.max_supported_version) for one in record.features},
        rack=record.rack,
        fenced=record.fenced,
        in_controlled_shutdown=record.in_controlled_shutdown,
        directories=tuple(record.log_dirs),
        cordoned_directories=tuple(record.cordoned_log_dirs or ()),
        has_reported_cordoned=record.cordoned_log_dirs is not None,
        is_migrating_zk_broker=record.is_migrating_zk_broker,
    )
    delta.changed_brokers[record.broker_id] = None


def _registration(image: MetadataImage, broker_id: int, epoch: int) -> BrokerRegistration:
    broker = image.brokers.get(broker_id)
    if broker is None or broker.epoch != epoch:
        known = "not registered" if broker is None else f"registered with epoch {broker.epoch}"
        raise MetadataCorruption(f"broker {broker_id} with epoch {epoch} is {known}")
    return broker


def _change_registration(
    image: MetadataImage, record: records.BrokerRegistrationChangeRecord, delta: MetadataDelta
) -> None:
    broker = _registration(image, record.broker_id, record.broker_epoch)
    image.own("brokers")
    cordoned = record.cordoned_log_dirs
    image.brokers[broker.broker_id] = broker._replace(
        fenced=broker.fenced if record.fenced == 0 else record.fenced == FENCE,
        in_controlled_shutdown=broker.in_controlled_shutdown or record.in_controlled_shutdown == 1,
        directories=tuple(record.log_dirs) or broker.directories,
        cordoned_directories=broker.cordoned_directories if cordoned is None else tuple(cordoned),
        has_reported_cordoned=broker.has_reported_cordoned or cordoned is not None,
    )
    delta.changed_brokers[broker.broker_id] = None


def _fence(image: MetadataImage, record: records.FenceBrokerRecord, delta: MetadataDelta) -> None:
    image.own("brokers")
    image.brokers[record.id] = _registration(image, record.id, record.epoch)._replace(fenced=True)
    delta.changed_brokers[record.id] = None


def _unfence(image: MetadataImage, record: records.UnfenceBrokerRecord, delta: MetadataDelta) -> None:
    image.own("brokers")
    image.brokers[record.id] = _registration(image, record.id, record.epoch)._replace(fenced=False)
    delta.changed_brokers[record.id] = None


def _unregister(image: MetadataImage, record: records.UnregisterBrokerRecord, delta: MetadataDelta) -> None:
    _registration(image, record.broker_id, record.broker_epoch)
    image.own("brokers")
    del image.brokers[record.broker_id]
    delta.changed_brokers[record.broker_id] = None


def _feature(image: MetadataImage, record: records.FeatureLevelRecord, delta: MetadataDelta) -> None:
    image.own("features")
    if record.feature_level == 0:
        image.features.pop(record.name, None)
    else:
        image.features[record.name] = record.feature_level
    delta.changed_features[record.name] = None


def _producer_ids(image: MetadataImage, record: records.ProducerIdsRecord, delta: MetadataDelta) -> None:
    if record.next_producer_id <= image.next_producer_id:
        raise MetadataCorruption(f"producer ids go back from {image.next_producer_id} to {record.next_producer_id}")
    image.next_producer_id = record.next_producer_id


def _client_quota(image: MetadataImage, record: records.ClientQuotaRecord, delta: MetadataDelta) -> None:
    entity: ClientQuotaEntity = tuple(sorted((one.entity_type, one.entity_name) for one in record.entity))
    image.own("client_quotas")
    quotas = image.client_quotas[entity] = dict(image.client_quotas.get(entity, {}))  # a view may hold the old one
    if record.remove:
        quotas.pop(record.key, None)
    else:
        quotas[record.key] = record.value
    if not quotas:
        del image.client_quotas[entity]


def _acl(image: MetadataImage, record: records.AccessControlEntryRecord, delta: MetadataDelta) -> None:
    image.own("acls")
    image.acls[record.id] = Acl(
        record.resource_type,
        record.resource_name,
        record.pattern_type,
        record.principal,
        record.host,
        record.operation,
        record.permission_type,
    )
    delta.changed_acls[record.id] = None


def _remove_acl(image: MetadataImage, record: records.RemoveAccessControlEntryRecord, delta: MetadataDelta) -> None:
    if record.id not in image.acls:
        raise MetadataCorruption(f"an ACL is removed that is not there: {record}"[:SHOWN_CHARACTERS])
    image.own("acls")
    del image.acls[record.id]
    delta.changed_acls[record.id] = None


def _nothing(image: MetadataImage, record: Message, delta: MetadataDelta) -> None:
    """NoOp, and markers of transactions, which the log reader has already resolved."""


_REPLAYS: dict[type[Message], Callable[[MetadataImage, Any, MetadataDelta], None]] = {
    records.RegisterBrokerRecord: _register_broker,
    records.UnregisterBrokerRecord: _unregister,
    records.TopicRecord: _topic,
    records.PartitionRecord: _partition,
    records.ConfigRecord: _config,
    records.PartitionChangeRecord: _partition_change,
    records.FenceBrokerRecord: _fence,
    records.UnfenceBrokerRecord: _unfence,
    records.RemoveTopicRecord: _remove_topic,
    records.FeatureLevelRecord: _feature,
    records.ClientQuotaRecord: _client_quota,
    records.ProducerIdsRecord: _producer_ids,
    records.AccessControlEntryRecord: _acl,
    records.RemoveAccessControlEntryRecord: _remove_acl,
    records.BrokerRegistrationChangeRecord: _change_registration,
    records.NoOpRecord: _nothing,
    records.BeginTransactionRecord: _nothing,
    records.EndTransactionRecord: _nothing,
    records.AbortTransactionRecord: _nothing,
    records.ClearElrRecord: _clear_elr,
}

_KEPT_BY: dict[type[Message], Callable[[Any], tuple[object, ...]]] = {
    records.UserScramCredentialRecord: lambda record: (record.name, record.mechanism),
    records.DelegationTokenRecord: lambda record: (record.token_id,),
    records.RegisterControllerRecord: lambda record: (record.controller_id,),
    records.ZkMigrationStateRecord: lambda record: (),
}
"""Record types that are kept unchanged, with the fields of their keys."""

_REMOVES: dict[type[Message], tuple[type[Message], Callable[[Any], tuple[object, ...]]]] = {
    records.RemoveUserScramCredentialRecord: (
        records.UserScramCredentialRecord,
        lambda record: (record.name, record.mechanism),
    ),
    records.RemoveDelegationTokenRecord: (records.DelegationTokenRecord, lambda record: (record.token_id,)),
}
"""Record types that remove a kept record."""
