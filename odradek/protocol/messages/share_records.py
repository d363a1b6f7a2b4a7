"""Keys and values of ``__share_group_state``.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from typing import ClassVar

from .structure import ZERO_UUID, Message, Structure


class ShareSnapshotKey(Message):
    """Kafka's ShareSnapshotKey (record key), type 0, versions 0.

    - group_id: string, versions 0
    - topic_id: uuid, versions 0; the id of the topic, which a new topic of the same name does not share (KIP-516)
    - partition: int32, versions 0
    """

    __slots__ = (
        "group_id",
        "topic_id",
        "partition",
    )

    NAME: ClassVar[str] = "ShareSnapshotKey"
    API_KEY: ClassVar[int] = 0
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        group_id: str = "",
        topic_id: bytes = ZERO_UUID,
        partition: int = 0,
    ) -> None:
        self.group_id = group_id
        self.topic_id = topic_id
        self.partition = partition
        self.unknown_tagged_fields = None


class ShareSnapshotValue(Message):
    """Kafka's ShareSnapshotValue (record value), type 0, versions 0, flexible 0+.

    - snapshot_epoch: int32, versions 0+
    - state_epoch: int32, versions 0+
    - leader_epoch: int32, versions 0+; counts the changes of the leader
    - start_offset: int64, versions 0+
    - delivery_complete_count: int32, versions 0+, tag 0
    - create_timestamp: int64, versions 0+
    - write_timestamp: int64, versions 0+
    - state_batches: []StateBatch, versions 0+
    """

    class StateBatch(Structure):
        """Structure StateBatch, versions 0+.

        - first_offset: int64, versions 0+
        - last_offset: int64, versions 0+
        - delivery_state: int8, versions 0+
        - delivery_count: int16, versions 0+
        """

        __slots__ = (
            "first_offset",
            "last_offset",
            "delivery_state",
            "delivery_count",
        )

        def __init__(
            self,
            first_offset: int = 0,
            last_offset: int = 0,
            delivery_state: int = 0,
            delivery_count: int = 0,
        ) -> None:
            self.first_offset = first_offset
            self.last_offset = last_offset
            self.delivery_state = delivery_state
            self.delivery_count = delivery_count
            self.unknown_tagged_fields = None

    __slots__ = (
        "snapshot_epoch",
        "state_epoch",
        "leader_epoch",
        "start_offset",
        "delivery_complete_count",
        "create_timestamp",
        "write_timestamp",
        "state_batches",
    )

    NAME: ClassVar[str] = "ShareSnapshotValue"
    API_KEY: ClassVar[int] = 0
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        snapshot_epoch: int = 0,
        state_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
        create_timestamp: int = 0,
        write_timestamp: int = 0,
        state_batches: list[ShareSnapshotValue.StateBatch] | None = None,
    ) -> None:
        self.snapshot_epoch = snapshot_epoch
        self.state_epoch = state_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.delivery_complete_count = delivery_complete_count
        self.create_timestamp = create_timestamp
        self.write_timestamp = write_timestamp
        self.state_batches = [] if state_batches is None else state_batches
        self.unknown_tagged_fields = None


class ShareUpdateKey(Message):
    """Kafka's ShareUpdateKey (record key), type 1, versions 0.

    - group_id: string, versions 0
    - topic_id: uuid, versions 0; the id of the topic, which a new topic of the same name does not share (KIP-516)
    - partition: int32, versions 0
    """

    __slots__ = (
        "group_id",
        "topic_id",
        "partition",
    )

    NAME: ClassVar[str] = "ShareUpdateKey"
    API_KEY: ClassVar[int] = 1
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        group_id: str = "",
        topic_id: bytes = ZERO_UUID,
        partition: int = 0,
    ) -> None:
        self.group_id = group_id
        self.topic_id = topic_id
        self.partition = partition
        self.unknown_tagged_fields = None


class ShareUpdateValue(Message):
    """Kafka's ShareUpdateValue (record value), type 1, versions 0, flexible 0+.

    - snapshot_epoch: int32, versions 0+
    - leader_epoch: int32, versions 0+; counts the changes of the leader
    - start_offset: int64, versions 0+
    - delivery_complete_count: int32, versions 0+, tag 0
    - state_batches: []StateBatch, versions 0+
    """

    class StateBatch(Structure):
        """Structure StateBatch, versions 0+.

        - first_offset: int64, versions 0+
        - last_offset: int64, versions 0+
        - delivery_state: int8, versions 0+
        - delivery_count: int16, versions 0+
        """

        __slots__ = (
            "first_offset",
            "last_offset",
            "delivery_state",
            "delivery_count",
        )

        def __init__(
            self,
            first_offset: int = 0,
            last_offset: int = 0,
            delivery_state: int = 0,
            delivery_count: int = 0,
        ) -> None:
            self.first_offset = first_offset
            self.last_offset = last_offset
            self.delivery_state = delivery_state
            self.delivery_count = delivery_count
            self.unknown_tagged_fields = None

    __slots__ = (
        "snapshot_epoch",
        "leader_epoch",
        "start_offset",
        "delivery_complete_count",
        "state_batches",
    )

    NAME: ClassVar[str] = "ShareUpdateValue"
    API_KEY: ClassVar[int] = 1
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        snapshot_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
        state_batches: list[ShareUpdateValue.StateBatch] | None = None,
    ) -> None:
        self.snapshot_epoch = snapshot_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.delivery_complete_count = delivery_complete_count
        self.state_batches = [] if state_batches is None else state_batches
        self.unknown_tagged_fields = None
