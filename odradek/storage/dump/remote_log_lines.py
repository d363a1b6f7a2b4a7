"""Records of ``__remote_log_metadata`` as the text that Kafka's tool prints.

Pure. Source: the ``toString`` of RemoteLogSegmentMetadata, RemoteLogSegmentMetadataUpdate, its snapshot, and
RemotePartitionDeleteMetadata (KIP-405).
"""

from typing import Any

from odradek.protocol.messages.remote_log_records import (
    RemoteLogSegmentMetadataRecord,
    RemoteLogSegmentMetadataSnapshotRecord,
    RemoteLogSegmentMetadataUpdateRecord,
    RemotePartitionDeleteMetadataRecord,
)
from odradek.protocol.show.message_documents import uuid_text

from .decoders import Typed

SEGMENT_STATES = (
    "COPY_SEGMENT_STARTED",
    "COPY_SEGMENT_FINISHED",
    "DELETE_SEGMENT_STARTED",
    "DELETE_SEGMENT_FINISHED",
)
DELETE_STATES = ("DELETE_PARTITION_MARKED", "DELETE_PARTITION_STARTED", "DELETE_PARTITION_FINISHED")


def remote_log_text(typed: Typed, _: bool) -> str:
    """The text of one record."""
    message: Any = typed.message
    match message:
        case RemoteLogSegmentMetadataRecord():
            segment = f"remoteLogSegmentId={_segment(message.remote_log_segment_id)}"
            segment += f", startOffset={message.start_offset}"
            times = f"brokerId={message.broker_id}, maxTimestampMs={message.max_timestamp_ms}"
            times += f", eventTimestampMs={message.event_timestamp_ms}"
            return (
                f"RemoteLogSegmentMetadata{{{segment}, endOffset={message.end_offset}, {times}, {_content(message)},"
                f" txnIdxEmpty={_java(message.txn_index_empty)}}}"
            )
        case RemoteLogSegmentMetadataUpdateRecord():
            return (
                f"RemoteLogSegmentMetadataUpdate{{remoteLogSegmentId={_segment(message.remote_log_segment_id)},"
                f" customMetadata={_custom(message)}, state={_state(SEGMENT_STATES, message.remote_log_segment_state)},"
                f" eventTimestampMs={message.event_timestamp_ms}, brokerId={message.broker_id}}}"
            )
        case RemoteLogSegmentMetadataSnapshotRecord():
            return (
                f"RemoteLogSegmentMetadataSnapshot{{segmentId={uuid_text(message.segment_id)},"
                f" startOffset={message.start_offset}, endOffset={message.end_offset},"
                f" maxTimestampMs={message.max_timestamp_ms}, {_content(message)},"
                f" txnIdxEmpty={_java(message.txn_index_empty)}}}"
            )
        case RemotePartitionDeleteMetadataRecord():
            return (
                f"RemotePartitionDeleteMetadata{{topicPartition={_partition(message.topic_id_partition)},"
                f" state={_state(DELETE_STATES, message.remote_partition_delete_state)},"
                f" eventTimestampMs={message.event_timestamp_ms}, brokerId={message.broker_id}}}"
            )
    raise AssertionError(f"{message.NAME} is not a record of __remote_log_metadata")


def _content(message: Any) -> str:
    """Epochs, size, custom metadata and state: the fields that a segment's record and its snapshot share."""
    epochs = dict(sorted((entry.leader_epoch, entry.offset) for entry in message.segment_leader_epochs))
    return (
        f"segmentLeaderEpochs={{{', '.join(f'{epoch}={offset}' for epoch, offset in epochs.items())}}},"
        f" segmentSizeInBytes={message.segment_size_in_bytes}, customMetadata={_custom(message)},"
        f" state={_state(SEGMENT_STATES, message.remote_log_segment_state)}"
    )


def _state(names: tuple[str, ...], state: int) -> str:
    """The name of a state. For a state that Kafka 4.4.0 does not know, its number; Kafka's tool fails there."""
    return names[state] if 0 <= state < len(names) else f"unknown({state})"


def _custom(message: Any) -> str:
    data = message.custom_metadata
    return "Optional.empty" if data is None else f"Optional[CustomMetadata{{{len(data)} bytes}}]"


def _segment(entry: Any) -> str:
    partition = _partition(entry.topic_id_partition)
    return f"RemoteLogSegmentId{{topicIdPartition={partition}, id={uuid_text(entry.id)}}}"


def _partition(entry: Any) -> str:
    return f"{uuid_text(entry.id)}:{entry.name}-{entry.partition}"


def _java(value: bool) -> str:
    return "true" if value else "false"
