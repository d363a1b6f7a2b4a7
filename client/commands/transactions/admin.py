"""The admin client of ``odradek transactions``: only the parts it needs, so that it starts fast."""

from ...admin.topics import TopicAdmin
from ...admin.transactions import TransactionAdmin


class TransactionsAdmin(TopicAdmin, TransactionAdmin):
    """Operations on transactions and topics."""
