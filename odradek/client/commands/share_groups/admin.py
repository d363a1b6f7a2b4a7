"""The admin client of ``odradek share-groups``. It has only the families of requests that it needs."""

from ...admin.share_groups import ShareGroupAdmin
from ..groups.admin import GroupsAdmin


class ShareGroupsAdmin(GroupsAdmin, ShareGroupAdmin):
    """Operations on share groups, and on their topics and offsets."""
