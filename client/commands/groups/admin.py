"""The admin client of ``odradek groups``: only the parts it needs, so that it starts fast."""

from ...admin.groups import GroupAdmin
from ...admin.records import RecordAdmin
from ...admin.topics import TopicAdmin


class GroupsAdmin(TopicAdmin, RecordAdmin, GroupAdmin):
    """Operations on groups, and on their topics and offsets."""
