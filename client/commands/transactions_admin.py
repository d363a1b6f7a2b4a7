"""The admin client that ``odradek transactions`` asks with: only what it needs, so that it starts fast."""

from ..admin_topics import TopicAdmin
from ..admin_transactions import TransactionAdmin


class TransactionsAdmin(TopicAdmin, TransactionAdmin):
    """Transactions, and the topics that they are searched in."""
