"""Replaying metadata records: the only way to change the image, for loading and serving, and for records of a real
Kafka.

Pure. Owns: the effect of each record type; modules beside it have those of topics, brokers and security. Never does:
I/O, reading a clock, deciding. Invariant: every record type of Kafka 4.4.0 has an entry in the tables below; a record
that contradicts the image raises MetadataCorruption, as a controller of Kafka's stops. Source: the ``replay`` methods
of Kafka's Delta classes.
"""

from collections.abc import Callable
from typing import Any

from odradek.protocol.messages import metadata_records as records
from odradek.protocol.messages.structure import Message

from . import replay_brokers as brokers
from . import replay_security as security
from . import replay_topics as topics
from .image import ClientQuotaEntity, KeptRecord, MetadataCorruption, MetadataDelta, MetadataImage


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
        delta.drafts[record.topic_id] = topics.new_topic(image, record, delta)
    elif type(record) in (records.PartitionRecord, records.PartitionChangeRecord):
        topic_id: bytes = record.topic_id  # type: ignore[attr-defined]
        if topic_id not in delta.drafts:
            delta.drafts[topic_id] = topics.find_topic(image, topic_id).copy()
        put = topics.put_partition if type(record) is records.PartitionRecord else topics.change_partition
        put(delta.drafts[topic_id], record, delta)
    elif type(record) is records.RemoveTopicRecord and record.topic_id in delta.drafts:
        topics.remove_draft(image, record, delta)
    elif type(record) is records.ClearElrRecord and delta.drafts:
        topics.clear_elr_aside(image, record, delta)
    else:
        replay(image, record, delta, version)


def publish(image: MetadataImage, delta: MetadataDelta) -> None:
    """Puts the drafts into the image, at the end of a run of :func:`replay_aside`. Costs 0.2 us a topic."""
    if delta.drafts:
        image.own("topics_by_name", "topics_by_id")
    for topic_id, topic in delta.drafts.items():
        image.topics_by_name[topic.name] = image.topics_by_id[topic_id] = topic
    delta.drafts.clear()


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
    entity: ClientQuotaEntity = tuple(sorted((part.entity_type, part.entity_name) for part in record.entity))
    image.own("client_quotas")
    delta.changed_client_quotas[entity] = None
    quotas = image.client_quotas[entity] = dict(image.client_quotas.get(entity, {}))  # a view may hold the old one
    if record.remove:
        quotas.pop(record.key, None)
    else:
        quotas[record.key] = record.value
    if not quotas:
        del image.client_quotas[entity]


def _nothing(image: MetadataImage, record: Message, delta: MetadataDelta) -> None:
    """NoOp, and markers of transactions, which the log reader has already resolved."""


_REPLAYS: dict[type[Message], Callable[[MetadataImage, Any, MetadataDelta], None]] = {
    records.RegisterBrokerRecord: brokers.register_broker,
    records.UnregisterBrokerRecord: brokers.unregister_broker,
    records.TopicRecord: topics.add_topic,
    records.PartitionRecord: topics.add_partition,
    records.ConfigRecord: _config,
    records.PartitionChangeRecord: topics.apply_partition_change,
    records.FenceBrokerRecord: brokers.fence_broker,
    records.UnfenceBrokerRecord: brokers.unfence_broker,
    records.RemoveTopicRecord: topics.remove_topic,
    records.FeatureLevelRecord: _feature,
    records.ClientQuotaRecord: _client_quota,
    records.ProducerIdsRecord: _producer_ids,
    records.AccessControlEntryRecord: security.add_acl,
    records.RemoveAccessControlEntryRecord: security.remove_acl,
    records.DelegationTokenRecord: security.add_token,
    records.RemoveDelegationTokenRecord: security.remove_token,
    records.UserScramCredentialRecord: security.add_scram_credential,
    records.RemoveUserScramCredentialRecord: security.remove_scram_credential,
    records.BrokerRegistrationChangeRecord: brokers.change_registration,
    records.NoOpRecord: _nothing,
    records.BeginTransactionRecord: _nothing,
    records.EndTransactionRecord: _nothing,
    records.AbortTransactionRecord: _nothing,
    records.ClearElrRecord: topics.clear_elr,
}

_KEPT_BY: dict[type[Message], Callable[[Any], tuple[object, ...]]] = {
    records.RegisterControllerRecord: lambda record: (record.controller_id,),
    records.ZkMigrationStateRecord: lambda record: (),
}
"""Record types that are kept unchanged, with the fields of their keys."""

_REMOVES: dict[type[Message], tuple[type[Message], Callable[[Any], tuple[object, ...]]]] = {
    records.UnregisterControllerRecord: (records.RegisterControllerRecord, lambda record: (record.controller_id,)),
}
"""Record types that remove a kept record."""
