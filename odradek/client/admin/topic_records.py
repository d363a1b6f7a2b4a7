"""The admin client of ``odradek get-offsets``. It has only two families of requests, for a faster start."""

from .records import RecordAdmin
from .topics import TopicAdmin


class TopicRecordAdmin(TopicAdmin, RecordAdmin):
    """An admin client with the calls about topics and records."""
