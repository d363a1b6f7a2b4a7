"""DeleteGroups (42): deletes empty groups with their offsets, and share groups with their stored state.

Versions: 0 to 3. 2: flexible. 3: an error message for each group; it is null for the errors below.
Errors of each group: GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP, COORDINATOR_LOAD_IN_PROGRESS,
NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE, and those of share coordinators. A share group is deleted after the state of
all its share partitions.
Source: ``KafkaApis.handleDeleteGroupsRequest``, ``GroupGroupShard.deleteGroups``.
"""

from collections.abc import Callable, Iterator

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.internal_records.share_partition_key import SharePartitionKey
from odradek.protocol.messages.groups import DeleteGroupsRequest, DeleteGroupsResponse

from ..dispatch.request import RequestContext
from ..groups.core import GroupCore
from ..groups.describe import delete_group
from ..groups.effects import GroupEffects
from .parts import GroupParts, ShareParts

with lazy_imports:
    from ..groups.share import state_requests, state_topics

API_KEY = ApiKey.DELETE_GROUPS

DeletableGroupResult = DeleteGroupsResponse.DeletableGroupResult


def handle(
    broker: ShareParts,
    request: DeleteGroupsRequest,
    context: RequestContext,
    reply: Callable[[DeleteGroupsResponse], None],
) -> Iterator[object]:
    """Deletes the groups one after the other, in steps. Answers after the tombstones of all groups are stored."""
    group_ids = list(dict.fromkeys(request.groups_names))
    results: dict[str, DeletableGroupResult] = {}

    def collect(result: DeletableGroupResult) -> None:
        results[result.group_id] = result
        if len(results) == len(group_ids):
            reply(DeleteGroupsResponse(results=[results[group_id] for group_id in group_ids]))

    if not group_ids:
        reply(DeleteGroupsResponse())
    for group_id in group_ids:
        if _is_share_group(broker, group_id):
            _delete_share_group(broker, group_id, context.now_ms, collect)
        else:
            yield from _delete(broker, group_id, context.now_ms, collect)
        yield None


def _delete(
    broker: GroupParts, group_id: str, now_ms: int, done: Callable[[DeletableGroupResult], None]
) -> Iterator[object]:
    """Deletes one group: a portion of its offsets in each step, and the group with the last portion."""
    goes_on = True
    is_ended = False

    def refused(error: ErrorCode) -> DeletableGroupResult:
        return DeletableGroupResult(group_id=group_id, error_code=error)

    def collect(result: object) -> None:
        nonlocal is_ended
        if isinstance(result, DeletableGroupResult) and not is_ended:
            is_ended = True
            done(result)

    def delete(core: GroupCore, effects: GroupEffects) -> None:
        nonlocal goes_on
        goes_on = delete_group(core, group_id, effects)

    while goes_on and not is_ended:
        goes_on = False
        broker.group_coordinator.write(group_id, now_ms, delete, collect, refused)
        yield None


def _is_share_group(broker: GroupParts, group_id: str) -> bool:
    try:
        return group_id in broker.group_coordinator.shard_of(group_id).core.groups.share
    except KafkaError:
        return False


def _delete_share_group(
    broker: ShareParts, group_id: str, now_ms: int, done: Callable[[DeletableGroupResult], None]
) -> None:
    """Deletes a share group: notes that its state is being deleted, deletes the state, then the group."""
    coordinator = broker.group_coordinator
    keys: list[SharePartitionKey] = []

    def refused(error: ErrorCode) -> DeletableGroupResult:
        return DeletableGroupResult(group_id=group_id, error_code=error)

    def begin(core: GroupCore, effects: GroupEffects) -> None:
        group = core.groups.share.get(group_id)
        if group is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
        if group.members:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)
        keys.extend(state_topics.begin_deletion(core.groups, group, effects))
        effects.response = DeletableGroupResult(group_id=group_id)

    def begun(result: DeletableGroupResult) -> None:
        if result.error_code:
            done(result)
        else:
            coordinator.timers.schedule(
                0, lambda: state_requests.delete(broker.persister, coordinator, group_id, keys, deleted)
            )

    def deleted(errors: state_requests.Errors) -> None:
        if errors:
            done(refused(next(iter(errors.values()))))
        else:
            coordinator.write(group_id, now_ms, finish, done, refused)

    def finish(core: GroupCore, effects: GroupEffects) -> None:
        delete_group(core, group_id, effects)

    coordinator.write(group_id, now_ms, begin, begun, refused)
