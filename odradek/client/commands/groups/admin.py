"""The admin client of ``odradek groups``. It has only the families of requests that it needs, for a faster start."""

from ...admin.groups import GroupAdmin
from ...admin.records import RecordAdmin
from ...admin.topics import TopicAdmin


class GroupsAdmin(TopicAdmin, RecordAdmin, GroupAdmin):
    """Operations on groups, and on their topics and offsets."""
