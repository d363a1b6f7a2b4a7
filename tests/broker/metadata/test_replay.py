"""Replaying records: the effect of each on the image, and contradictory records."""

import pytest

from odradek.broker.metadata.image.delegation_tokens import DelegationToken
from odradek.broker.metadata.image.image import (
    DIRECTORY_MIGRATING,
    LeaderRecoveryState,
    MetadataCorruption,
    MetadataDelta,
    MetadataImage,
    PartitionImage,
)
from odradek.broker.metadata.image.replay import replay
from odradek.protocol.messages import metadata_records as records
from odradek.protocol.security.acl import Acl
from odradek.protocol.security.scram_credential import ScramCredential
from support.brokers.metadata_images import apply, controller, started

TOPIC_ID = b"t" * 16
OTHER_ID = b"u" * 16


def with_topic() -> MetadataImage:
    image = started(controller())
    apply(
        image,
        [
            records.TopicRecord("t", TOPIC_ID),
            records.ConfigRecord(2, "t", "cleanup.policy", "compact"),
            records.PartitionRecord(
                0, TOPIC_ID, replicas=[1, 2], isr=[1, 2], leader=1, leader_epoch=4, partition_epoch=7
            ),
        ],
    )
    return image


def partition(image: MetadataImage) -> PartitionImage:
    found = image.partition("t", 0)
    assert found is not None
    return found


def test_topic_with_config_and_partition() -> None:
    image = with_topic()
    assert image.topics_by_id[TOPIC_ID] is image.topics_by_name["t"]
    assert image.config_of(2, "t") == {"cleanup.policy": "compact"}
    assert partition(image).directories == (DIRECTORY_MIGRATING, DIRECTORY_MIGRATING)


def test_change_that_names_a_leader_raises_the_leader_epoch() -> None:
    image = with_topic()
    apply(image, [records.PartitionChangeRecord(0, TOPIC_ID, isr=[1], leader=1)])
    changed = partition(image)
    assert (changed.isr, changed.leader, changed.leader_epoch, changed.partition_epoch) == ((1,), 1, 5, 8)


def test_change_that_names_no_leader_keeps_the_leader_epoch() -> None:
    image = with_topic()
    apply(image, [records.PartitionChangeRecord(0, TOPIC_ID, isr=[2], eligible_leader_replicas=[1])])
    changed = partition(image)
    assert (changed.leader, changed.leader_epoch, changed.partition_epoch) == (1, 4, 8)
    assert (changed.isr, changed.eligible_leader_replicas) == ((2,), (1,))


def test_change_to_no_leader_is_a_change_of_leader() -> None:
    image = with_topic()
    apply(image, [records.PartitionChangeRecord(0, TOPIC_ID, isr=[], leader=-1, leader_recovery_state=1)])
    changed = partition(image)
    assert (changed.has_leader, changed.leader_epoch) == (False, 5)
    assert changed.leader_recovery_state is LeaderRecoveryState.RECOVERING


def test_clear_elr_of_one_topic_and_of_all() -> None:
    for name in ("t", ""):
        image = with_topic()
        apply(image, [records.PartitionChangeRecord(0, TOPIC_ID, eligible_leader_replicas=[1], last_known_elr=[2])])
        delta = apply(image, [records.ClearElrRecord(name)])
        assert (partition(image).eligible_leader_replicas, partition(image).last_known_elr) == ((), ())
        assert list(delta.changed_partitions) == [(TOPIC_ID, 0)]


def test_removed_topic_takes_its_configs_along() -> None:
    image = with_topic()
    delta = apply(image, [records.RemoveTopicRecord(TOPIC_ID)])
    assert not image.topics_by_name
    assert not image.topics_by_id
    assert image.config_of(2, "t") == {}
    assert [topic.name for topic in delta.deleted_topics.values()] == ["t"]
    assert list(delta.changed_configs) == [(2, "t")]


def test_delta_of_a_topic_recreated_in_one_run_names_both() -> None:
    image = with_topic()
    delta = apply(image, [records.RemoveTopicRecord(TOPIC_ID), records.TopicRecord("t", OTHER_ID)])
    assert list(delta.deleted_topics) == [TOPIC_ID]
    assert list(delta.created_topics) == [OTHER_ID]


def test_delta_leaves_out_a_topic_that_came_and_went() -> None:
    image = started(controller())
    created = [records.TopicRecord("t", TOPIC_ID), records.PartitionRecord(0, TOPIC_ID, replicas=[1], isr=[1])]
    delta = apply(image, [*created, records.RemoveTopicRecord(TOPIC_ID)])
    assert not delta.created_topics
    assert not delta.deleted_topics
    assert not delta.changed_partitions


def test_broker_is_fenced_and_unfenced_by_old_and_new_records() -> None:
    image = started(controller())
    epoch = image.brokers[1].epoch
    assert image.brokers[1].is_active
    apply(image, [records.BrokerRegistrationChangeRecord(1, epoch, fenced=1)])
    fenced = [image.brokers[1].fenced]
    apply(image, [records.UnfenceBrokerRecord(1, epoch)])
    fenced.append(image.brokers[1].fenced)
    assert fenced == [True, False]
    apply(image, [records.BrokerRegistrationChangeRecord(1, epoch, in_controlled_shutdown=1)])
    assert (image.brokers[1].fenced, image.brokers[1].is_active) == (False, False)
    apply(image, [records.FenceBrokerRecord(1, epoch)])
    assert image.brokers[1].fenced
    apply(image, [records.UnregisterBrokerRecord(1, epoch)])
    assert 1 not in image.brokers


def test_config_deleted_leaves_no_empty_resource() -> None:
    image = with_topic()
    apply(image, [records.ConfigRecord(2, "t", "cleanup.policy", None)])
    assert (2, "t") not in image.configs


def test_quotas() -> None:
    image = started(controller())
    user = records.ClientQuotaRecord.EntityData("user", "u")
    client = records.ClientQuotaRecord.EntityData("client-id", None)
    apply(image, [records.ClientQuotaRecord([user, client], "consumer_byte_rate", 5.0)])
    assert image.client_quotas == {(("client-id", None), ("user", "u")): {"consumer_byte_rate": 5.0}}
    apply(image, [records.ClientQuotaRecord([client, user], "consumer_byte_rate", 0.0, remove=True)])
    assert image.client_quotas == {}


def test_records_that_are_not_served_are_kept() -> None:
    image = started(controller())
    kept = [records.RegisterControllerRecord(controller_id=one) for one in (3000, 3001)]
    apply(image, kept)
    assert [one.message for one in image.kept.values()] == kept


def test_delegation_tokens_are_known_by_their_ids() -> None:
    """A token is in the image, with its latest expiry, until its removal; removing an unknown one does nothing."""
    image = started(controller())
    delta = MetadataDelta()
    replay(image, records.DelegationTokenRecord("User:alice", "User:bob", ["User:carol"], 1, 9, 3, "one"), delta)
    view = image.view()
    replay(image, records.DelegationTokenRecord("User:alice", "User:bob", ["User:carol"], 1, 9, 8, "one"), delta)
    replay(image, records.RemoveDelegationTokenRecord("two"), delta)
    assert view.delegation_tokens["one"].expiry_ms == 3
    assert image.delegation_tokens == {
        "one": DelegationToken("one", "User:alice", "User:bob", ("User:carol",), 1, 9, 8)
    }
    replay(image, records.RemoveDelegationTokenRecord("one"), delta)
    assert not image.delegation_tokens
    assert list(delta.changed_tokens) == ["one"]


def test_scram_credentials() -> None:
    """A user has one credential for each mechanism. A newer one replaces it, but not in a view."""
    image = started(controller())
    first, second = (records.UserScramCredentialRecord("u", kind, b"s", b"k", b"v", 4096) for kind in (1, 2))
    apply(image, [first, second])
    before = image.view()
    apply(image, [records.UserScramCredentialRecord("u", 1, b"S", b"K", b"V", 8192)])
    assert image.scram_credentials == {
        ("u", 1): ScramCredential(b"S", b"K", b"V", 8192),
        ("u", 2): ScramCredential(b"s", b"k", b"v", 4096),
    }
    apply(image, [records.RemoveUserScramCredentialRecord("u", 1), records.RemoveUserScramCredentialRecord("x", 1)])
    assert set(image.scram_credentials) == {("u", 2)}
    assert before.scram_credentials["u", 1] == ScramCredential(b"s", b"k", b"v", 4096)
    assert repr(before.scram_credentials["u", 1]) == "ScramCredential(iterations=4096)"


def test_acls_are_known_by_their_ids() -> None:
    """An ACL is in the image from its record to the record that removes its id."""
    image = started(controller())
    delta = MetadataDelta()
    one = records.AccessControlEntryRecord(b"a" * 16, 2, "orders", 3, "User:alice", "*", 3, 3)
    replay(image, one, delta)
    replay(image, records.AccessControlEntryRecord(b"b" * 16, 2, "orders", 3, "User:bob", "*", 3, 3), delta)
    view = image.view()
    replay(image, records.RemoveAccessControlEntryRecord(b"b" * 16), delta)
    assert image.acls == {b"a" * 16: Acl(2, "orders", 3, "User:alice", "*", 3, 3)}
    assert len(view.acls) == 2
    assert list(delta.changed_acls) == [b"a" * 16, b"b" * 16]
    with pytest.raises(MetadataCorruption):
        replay(image, records.RemoveAccessControlEntryRecord(b"b" * 16), delta)


def test_feature_of_level_0_is_absent() -> None:
    image = started(controller())
    apply(image, [records.FeatureLevelRecord("group.version", 1), records.FeatureLevelRecord("group.version", 0)])
    assert "group.version" not in image.features
    assert image.metadata_version == 33


@pytest.mark.parametrize(
    "record",
    [
        records.TopicRecord("t", OTHER_ID),
        records.TopicRecord("other", TOPIC_ID),
        records.RemoveTopicRecord(OTHER_ID),
        records.PartitionRecord(0, OTHER_ID),
        records.PartitionChangeRecord(9, TOPIC_ID),
        records.FenceBrokerRecord(1, 4711),
        records.UnfenceBrokerRecord(2, 0),
        records.ClearElrRecord("nowhere"),
        records.ProducerIdsRecord(1, 5, 0),
    ],
    ids=lambda record: type(record).__name__,
)
def test_what_contradicts_the_image_is_corruption(record: records.TopicRecord) -> None:
    image = with_topic()
    with pytest.raises(MetadataCorruption):
        replay(image, record, MetadataDelta())
