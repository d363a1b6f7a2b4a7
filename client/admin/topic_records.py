"""The admin client of ``odradek get-offsets``: topics and records only: imports cost at every start."""

from .records import RecordAdmin
from .topics import TopicAdmin


class TopicRecordAdmin(TopicAdmin, RecordAdmin):
    """The part of the admin client that knows topics, and deletes and finds records."""
