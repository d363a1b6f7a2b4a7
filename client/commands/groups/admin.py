"""The admin client that ``odradek groups`` asks with: only what it needs, so that it starts fast."""

from ...admin.groups import GroupAdmin
from ...admin.records import RecordAdmin
from ...admin.topics import TopicAdmin


class GroupsAdmin(TopicAdmin, RecordAdmin, GroupAdmin):
    """Groups, and the topics and offsets that they read."""
