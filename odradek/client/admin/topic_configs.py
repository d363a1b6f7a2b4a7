"""The admin client of ``odradek configs``. It has only two families of requests, for a faster start (fewer imports)."""

from .configs import ConfigAdmin
from .topics import TopicAdmin


class TopicConfigAdmin(TopicAdmin, ConfigAdmin):
    """An admin client with the calls about topics and configurations."""
