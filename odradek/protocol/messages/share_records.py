"""Keys and values of ``__share_group_state``.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from .structure import NEW_LIST, ZERO_UUID, Message, Structure


class ShareSnapshotKey(Message):
    """Kafka's ShareSnapshotKey (record key), type 0, versions 0."""

    NAME = "ShareSnapshotKey"
    API_KEY = 0
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 32767

    group_id: str = ""
    """string, versions 0"""
    topic_id: bytes = ZERO_UUID
    """uuid, versions 0; the id of the topic, which a new topic of the same name does not share (KIP-516)"""
    partition: int = 0
    """int32, versions 0"""


class ShareSnapshotValue(Message):
    """Kafka's ShareSnapshotValue (record value), type 0, versions 0, flexible 0+."""

    class StateBatch(Structure):
        """Structure StateBatch, versions 0+."""

        first_offset: int = 0
        """int64, versions 0+"""
        last_offset: int = 0
        """int64, versions 0+"""
        delivery_state: int = 0
        """int8, versions 0+"""
        delivery_count: int = 0
        """int16, versions 0+"""

    NAME = "ShareSnapshotValue"
    API_KEY = 0
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    snapshot_epoch: int = 0
    """int32, versions 0+"""
    state_epoch: int = 0
    """int32, versions 0+"""
    leader_epoch: int = 0
    """int32, versions 0+; counts the changes of the leader"""
    start_offset: int = 0
    """int64, versions 0+"""
    delivery_complete_count: int = -1
    """int32, versions 0+, tag 0"""
    create_timestamp: int = 0
    """int64, versions 0+"""
    write_timestamp: int = 0
    """int64, versions 0+"""
    state_batches: list[ShareSnapshotValue.StateBatch] = NEW_LIST
    """[]StateBatch, versions 0+"""


class ShareUpdateKey(Message):
    """Kafka's ShareUpdateKey (record key), type 1, versions 0."""

    NAME = "ShareUpdateKey"
    API_KEY = 1
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 32767

    group_id: str = ""
    """string, versions 0"""
    topic_id: bytes = ZERO_UUID
    """uuid, versions 0; the id of the topic, which a new topic of the same name does not share (KIP-516)"""
    partition: int = 0
    """int32, versions 0"""


class ShareUpdateValue(Message):
    """Kafka's ShareUpdateValue (record value), type 1, versions 0, flexible 0+."""

    class StateBatch(Structure):
        """Structure StateBatch, versions 0+."""

        first_offset: int = 0
        """int64, versions 0+"""
        last_offset: int = 0
        """int64, versions 0+"""
        delivery_state: int = 0
        """int8, versions 0+"""
        delivery_count: int = 0
        """int16, versions 0+"""

    NAME = "ShareUpdateValue"
    API_KEY = 1
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    snapshot_epoch: int = 0
    """int32, versions 0+"""
    leader_epoch: int = 0
    """int32, versions 0+; counts the changes of the leader"""
    start_offset: int = 0
    """int64, versions 0+"""
    delivery_complete_count: int = -1
    """int32, versions 0+, tag 0"""
    state_batches: list[ShareUpdateValue.StateBatch] = NEW_LIST
    """[]StateBatch, versions 0+"""
