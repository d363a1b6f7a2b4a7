"""The admin client of ``odradek transactions``. It has only the families of requests that it needs, to start fast."""

from ...admin.topics import TopicAdmin
from ...admin.transactions import TransactionAdmin


class TransactionsAdmin(TopicAdmin, TransactionAdmin):
    """Operations on transactions and topics."""
