"""Read-only mode, for data directories that must not change: refuses the requests that would change data.

Owns: the refusals. Never does: reading or changing data. Invariant: the usual handlers serve all reads; changes of data
are refused with POLICY_VIOLATION, which clients do not retry. The answer has the reason if it has a field for a
message. Joining a group is allowed, as the group's state stays in memory. ``MetadataService.carry_out`` refuses
metadata changes. Source: ours; Kafka has no such mode.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from odradek.protocol.apis.api_keys import ApiKey, api
from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import ErrorCode
from odradek.storage.files.files import Files

from .request import ConnectionRefusal, RequestContext
from .served import Handler

with lazy_imports:
    from odradek.protocol.messages import groups, offsets, produce

    from . import error_responses

REFUSED = ErrorCode.POLICY_VIOLATION


@dataclass(frozen=True, slots=True)
class ReadOnlyMode:
    """The settings of read-only mode.

    ``files_for`` returns the file layer of a directory, which keeps changes in memory. ``refusal`` is the reason that
    answers to changes give.
    """

    files_for: Callable[[Path], Files]
    refusal: str

    def handlers(self) -> Mapping[int, Handler]:
        """The handlers that replace those that change data."""
        return {
            ApiKey.PRODUCE: self._produce,
            ApiKey.OFFSET_COMMIT: _offset_commit,
            ApiKey.OFFSET_DELETE: _offset_delete,
            ApiKey.DELETE_GROUPS: _delete_groups,
            ApiKey.DELETE_RECORDS: _delete_records,
            ApiKey.INITIALIZE_SHARE_GROUP_STATE: _share_group_state,
            ApiKey.WRITE_SHARE_GROUP_STATE: _share_group_state,
            ApiKey.DELETE_SHARE_GROUP_STATE: _share_group_state,
            ApiKey.SHARE_FETCH: _of_share_group,
            ApiKey.SHARE_ACKNOWLEDGE: _of_share_group,
            ApiKey.ALTER_SHARE_GROUP_OFFSETS: _of_share_group,
            ApiKey.DELETE_SHARE_GROUP_OFFSETS: _of_share_group,
        }

    def _produce(self, _broker: Any, request: Any, _context: RequestContext, reply: Callable[[Any], None]) -> None:
        if request.acks == 0:
            reason = "a Produce request with acks=0 was refused, and such a request gets no answer"
            raise ConnectionRefusal(f"{reason}: {self.refusal}")
        topics = []
        for topic in request.topic_data:
            refused = [
                produce.ProduceResponse.PartitionProduceResponse(
                    data.index, REFUSED, base_offset=-1, record_errors=[], error_message=self.refusal
                )
                for data in topic.partition_data
            ]
            topics.append(produce.ProduceResponse.TopicProduceResponse(topic.name, topic.topic_id, refused))
        reply(produce.ProduceResponse(topics))


def _offset_commit(_broker: Any, request: Any, _context: RequestContext, reply: Callable[[Any], None]) -> None:
    topics = []
    for topic in request.topics:
        refused = [
            groups.OffsetCommitResponse.OffsetCommitResponsePartition(partition.partition_index, REFUSED)
            for partition in topic.partitions
        ]
        topics.append(
            groups.OffsetCommitResponse.OffsetCommitResponseTopic(
                name=topic.name, topic_id=topic.topic_id, partitions=refused
            )
        )
    reply(groups.OffsetCommitResponse(topics=topics))


def _offset_delete(_broker: Any, _request: Any, _context: RequestContext, reply: Callable[[Any], None]) -> None:
    reply(groups.OffsetDeleteResponse(error_code=REFUSED))


def _delete_groups(_broker: Any, request: Any, _context: RequestContext, reply: Callable[[Any], None]) -> None:
    refused = [
        groups.DeleteGroupsResponse.DeletableGroupResult(group_id=group_id, error_code=REFUSED)
        for group_id in request.groups_names
    ]
    reply(groups.DeleteGroupsResponse(results=refused))


def _delete_records(_broker: Any, request: Any, _context: RequestContext, reply: Callable[[Any], None]) -> None:
    topics = []
    for topic in request.topics:
        refused = [
            offsets.DeleteRecordsResponse.DeleteRecordsPartitionResult(partition.partition_index, -1, REFUSED)
            for partition in topic.partitions
        ]
        topics.append(offsets.DeleteRecordsResponse.DeleteRecordsTopicResult(name=topic.name, partitions=refused))
    reply(offsets.DeleteRecordsResponse(topics=topics))


def _of_share_group(_broker: Any, _request: Any, context: RequestContext, reply: Callable[[Any], None]) -> None:
    """Refuses the whole request: a share group changes its state with every record that it gives away."""
    reply(api(context.api_key).response_class()(error_code=REFUSED))


def _share_group_state(_broker: Any, request: Any, context: RequestContext, reply: Callable[[Any], None]) -> None:
    reply(error_responses.error_response(context.api_key, context.api_version, request, REFUSED))
