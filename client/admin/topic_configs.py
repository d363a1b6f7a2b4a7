"""The admin client of ``odradek configs``: topics and configurations only: imports cost at every start."""

from .configs import ConfigAdmin
from .topics import TopicAdmin


class TopicConfigAdmin(TopicAdmin, ConfigAdmin):
    """The part of the admin client that knows topics and configurations."""
