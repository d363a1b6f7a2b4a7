"""The admin client of ``odradek streams-groups``. It has only the families of requests that it needs."""

from ...admin.streams_groups import StreamsGroupAdmin
from ..groups.admin import GroupsAdmin


class StreamsGroupsAdmin(GroupsAdmin, StreamsGroupAdmin):
    """Operations on streams groups, and on their topics and offsets."""
