"""The admin client of ``odradek reassign-partitions``."""

from ...admin.log_dirs import LogDirAdmin
from ...admin.reassignments import ReassignmentAdmin
from ...admin.topic_configs import TopicConfigAdmin


class ReassignAdmin(TopicConfigAdmin, LogDirAdmin, ReassignmentAdmin):
    """An admin client with the calls about topics, configurations, log directories and reassignments."""
