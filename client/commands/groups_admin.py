"""The admin client that ``odradek groups`` asks with: only what it needs, so that it starts fast."""

from ..admin_groups import GroupAdmin
from ..admin_records import RecordAdmin
from ..admin_topics import TopicAdmin


class GroupsAdmin(TopicAdmin, RecordAdmin, GroupAdmin):
    """Groups, and the topics and offsets that they read."""
