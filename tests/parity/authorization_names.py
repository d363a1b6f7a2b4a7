"""The few names that the ACLs of the tests are about."""

TOPICS = ("orders", "hidden", "missing")
"""The first is the one that most ACLs name; the last does not exist."""
LASTING_TRANSACTION = "buyer"
"""A transactional id with an open transaction."""
GROUPS = ("readers", "others")
