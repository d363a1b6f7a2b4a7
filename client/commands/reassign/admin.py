"""The admin client of ``odradek reassign-partitions``."""

from ...admin.log_dirs import LogDirAdmin
from ...admin.reassignments import ReassignmentAdmin
from ...admin.topic_configs import TopicConfigAdmin


class ReassignAdmin(TopicConfigAdmin, LogDirAdmin, ReassignmentAdmin):
    """The part of the admin client that knows topics, configs, log directories and reassignments."""
