"""A consumer of a share group (KIP-932)."""

from .share_consumer import AcknowledgeType, ShareConsumer, ShareRecord

__all__ = ["AcknowledgeType", "ShareConsumer", "ShareRecord"]
