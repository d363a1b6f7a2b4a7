"""The name of a share partition, which the keys of ``__share_group_state`` and of FindCoordinator have.

Pure. Source: ``SharePartitionKey``; KIP-932.
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import NamedTuple

_TOPIC_ID = re.compile(r"[A-Za-z0-9_-]{22}(==)?")
"""A topic id in Kafka's text form: base64, with or without its padding."""
_NUMBER = re.compile(r"[+-]?[0-9]+")


class SharePartitionKey(NamedTuple):
    """One partition of a topic, as one share group sees it."""

    group_id: str
    topic_id: bytes
    partition: int

    @property
    def coordinator_key(self) -> str:
        """The text by which FindCoordinator finds the share coordinator: ``group:topicId:partition``."""
        topic_id = urlsafe_b64encode(self.topic_id).rstrip(b"=").decode()
        return f"{self.group_id}:{topic_id}:{self.partition}"

    @classmethod
    def parsed(cls, text: str) -> "SharePartitionKey | None":
        """The share partition with this coordinator key; None if it is malformed. The group id may contain colons.

        As ``SharePartitionKey.getInstance``, which drops colons at the end.
        """
        group_id, _, rest = text.rstrip(":").rpartition(":")
        group_id, _, topic_id = group_id.rpartition(":")
        if not group_id.strip() or not _NUMBER.fullmatch(rest) or not _TOPIC_ID.fullmatch(topic_id):
            return None
        partition = int(rest)
        if not -0x8000_0000 <= partition <= 0x7FFF_FFFF:
            return None
        return cls(group_id, urlsafe_b64decode(topic_id[:22] + "=="), partition)
