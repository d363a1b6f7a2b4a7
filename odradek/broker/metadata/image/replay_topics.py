"""The effects of the records of topics and partitions.

Pure. Owns: topics, partitions and their ELRs in the image, and drafts of topics. Never does: I/O, reading a clock,
deciding. Invariant: a record that contradicts the image raises MetadataCorruption. Source: ``replay`` of Kafka's
TopicsDelta and TopicDelta.
"""

from typing import Any

from odradek.protocol.messages import metadata_records as records
from odradek.protocol.names.topics import MAX_NAME_LENGTH

from .image import (
    DIRECTORY_MIGRATING,
    LeaderRecoveryState,
    MetadataCorruption,
    MetadataDelta,
    MetadataImage,
    PartitionImage,
    ResourceType,
    TopicImage,
)

NO_LEADER_CHANGE = -2
NO_EPOCH = -1


def add_topic(image: MetadataImage, record: records.TopicRecord, delta: MetadataDelta) -> None:
    """Adds a topic without partitions. Raises MetadataCorruption if its name or id exists."""
    topic = new_topic(image, record, delta)
    image.own("topics_by_name", "topics_by_id")
    image.topics_by_name[record.name] = image.topics_by_id[record.topic_id] = topic


def new_topic(image: MetadataImage, record: records.TopicRecord, delta: MetadataDelta) -> TopicImage:
    """The topic of a record, not yet in the image. Raises MetadataCorruption."""
    if not record.name or record.name in (".", "..") or "/" in record.name or "\0" in record.name:
        raise MetadataCorruption(f"{record.name!r} is not a topic name: its directories would lie outside log.dirs")
    size = len(record.name.encode())
    if size > MAX_NAME_LENGTH:
        shown = f"{record.name[:40]!r}..."
        raise MetadataCorruption(f"{shown} has {size:,} bytes; a topic name has {MAX_NAME_LENGTH} at most")
    if record.name in image.topics_by_name or record.topic_id in image.topics_by_id:
        raise MetadataCorruption(f"topic {record.name} with id {record.topic_id.hex()} exists already")
    topic = delta.created_topics[record.topic_id] = TopicImage(record.name, record.topic_id)
    return topic


def remove_topic(image: MetadataImage, record: records.RemoveTopicRecord, delta: MetadataDelta) -> None:
    """Removes a topic, its partitions and its configs. Raises MetadataCorruption if no topic has the id."""
    topic = find_topic(image, record.topic_id)
    image.own("topics_by_name", "topics_by_id", "configs")
    del image.topics_by_id[topic.topic_id], image.topics_by_name[topic.name]
    if image.configs.pop((ResourceType.TOPIC, topic.name), None):
        delta.changed_configs[ResourceType.TOPIC, topic.name] = None
    if delta.created_topics.pop(topic.topic_id, None) is None:
        delta.deleted_topics[topic.topic_id] = topic
    for index in topic.partitions:
        delta.changed_partitions.pop((topic.topic_id, index), None)


def find_topic(image: MetadataImage, topic_id: bytes) -> TopicImage:
    """The topic with an id. Raises MetadataCorruption."""
    topic = image.topics_by_id.get(topic_id)
    if topic is None:
        raise MetadataCorruption(f"no topic has the id {topic_id.hex()}")
    return topic


def add_partition(image: MetadataImage, record: records.PartitionRecord, delta: MetadataDelta) -> None:
    """Adds a partition to a topic, or replaces it. Raises MetadataCorruption."""
    put_partition(find_topic(image, record.topic_id), record, delta)


def put_partition(topic: TopicImage, record: Any, delta: MetadataDelta) -> None:
    """Adds the partition of a PartitionRecord to ``topic``, or replaces it. Raises MetadataCorruption."""
    if record.partition_id < 0:
        raise MetadataCorruption(f"topic {topic.name} can't have a partition {record.partition_id}")
    if record.leader_epoch < NO_EPOCH or record.partition_epoch < NO_EPOCH:
        raise MetadataCorruption(
            f"partition {record.partition_id} of topic {topic.name} can't have leader epoch {record.leader_epoch} and "
            f"partition epoch {record.partition_epoch}: the lowest is {NO_EPOCH}, for none"
        )
    replicas = tuple(record.replicas)
    if record.directories and len(record.directories) != len(replicas):
        raise MetadataCorruption(f"the record has {len(record.directories)} directories for {len(replicas)} replicas")
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


def apply_partition_change(image: MetadataImage, record: records.PartitionChangeRecord, delta: MetadataDelta) -> None:
    """Changes a partition of the image. Raises MetadataCorruption if it does not exist."""
    change_partition(find_topic(image, record.topic_id), record, delta)


def change_partition(topic: TopicImage, record: Any, delta: MetadataDelta) -> None:
    """Changes a partition of ``topic`` by a PartitionChangeRecord. Raises MetadataCorruption if it does not exist."""
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


def clear_elr(image: MetadataImage, record: records.ClearElrRecord, delta: MetadataDelta) -> None:
    """Clears the ELRs of one topic, or of all topics if the name is empty."""
    if record.topic_name and record.topic_name not in image.topics_by_name:
        raise MetadataCorruption(f"the record clears the ELRs of topic {record.topic_name}, which does not exist")
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


def remove_draft(image: MetadataImage, record: records.RemoveTopicRecord, delta: MetadataDelta) -> None:
    """Removes a topic that is a draft. One run of a followed log may create and delete a topic."""
    topic = delta.drafts.pop(record.topic_id)
    if delta.created_topics.pop(record.topic_id, None) is None:
        remove_topic(image, record, delta)
        return
    for index in topic.partitions:
        delta.changed_partitions.pop((topic.topic_id, index), None)
    image.own("configs")
    if image.configs.pop((ResourceType.TOPIC, topic.name), None):
        delta.changed_configs[ResourceType.TOPIC, topic.name] = None


def clear_elr_aside(image: MetadataImage, record: records.ClearElrRecord, delta: MetadataDelta) -> None:
    """Clears the ELRs of drafts, and of the topics of the image that the record names."""
    drafts = [topic for topic in delta.drafts.values() if record.topic_name in ("", topic.name)]
    for topic in drafts:
        cleared = _without_elr(topic)
        topic.partitions.update(cleared)
        delta.changed_partitions.update(((topic.topic_id, index), None) for index in cleared)
    if not drafts or not record.topic_name or record.topic_name in image.topics_by_name:
        clear_elr(image, record, delta)
