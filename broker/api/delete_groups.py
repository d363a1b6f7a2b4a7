"""DeleteGroups (42): deletes empty groups with their offsets.

Versions: 0 to 2. 2: flexible.
Errors of each group: GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP, COORDINATOR_LOAD_IN_PROGRESS,
NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE.
Source: ``KafkaApis.handleDeleteGroupsRequest``, ``GroupGroupShard.deleteGroups``.
"""

from collections.abc import Callable
from functools import partial

from ...protocol.api_keys import ApiKey
from ...protocol.errors import ErrorCode, KafkaError
from ...protocol.messages.groups import DeleteGroupsRequest, DeleteGroupsResponse
from ..coordinator.group_coordinator import GroupShard
from ..group_core.core import GroupCore
from ..group_core.describe import delete_groups
from ..groups.effects import Effects
from ..request import RequestContext
from .needs import HasGroupCoordinator

API_KEY = ApiKey.DELETE_GROUPS

Result = DeleteGroupsResponse.DeletableGroupResult


def handle(
    broker: HasGroupCoordinator,
    request: DeleteGroupsRequest,
    context: RequestContext,
    reply: Callable[[DeleteGroupsResponse], None],
) -> None:
    """Answers when the tombstones of all partitions are stored."""
    results: list[Result] = []
    by_shard: dict[GroupShard, list[str]] = {}
    for group_id in dict.fromkeys(request.groups_names):
        try:
            by_shard.setdefault(broker.group_coordinator.shard_of(group_id), []).append(group_id)
        except KafkaError as error:
            results += _refused([group_id], error.error_code)
    missing = len(by_shard)

    def collect(more: list[Result]) -> None:
        nonlocal missing
        results.extend(more)
        missing -= 1
        if not missing:
            reply(DeleteGroupsResponse(results=results))

    if not by_shard:
        reply(DeleteGroupsResponse(results=results))
    for shard, group_ids in by_shard.items():
        shard.write(context.now_ms, partial(_delete, group_ids), collect, partial(_refused, group_ids))


def _delete(group_ids: list[str], core: GroupCore, effects: Effects) -> None:
    delete_groups(core, group_ids, effects)


def _refused(group_ids: list[str], error: ErrorCode) -> list[Result]:
    return [Result(group_id=group_id, error_code=error) for group_id in group_ids]
