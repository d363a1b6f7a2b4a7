"""The admin client that ``odradek transactions`` asks with: only what it needs, so that it starts fast."""

from ...admin.topics import TopicAdmin
from ...admin.transactions import TransactionAdmin


class TransactionsAdmin(TopicAdmin, TransactionAdmin):
    """Transactions, and the topics that they are searched in."""
