"""The resource names that the ACLs of the tests refer to."""

TOPICS = ("orders", "hidden", "missing")
"""Most ACLs name the first topic. The last one does not exist."""
LASTING_TRANSACTION = "buyer"
"""A transactional id with an open transaction."""
GROUPS = ("readers", "others")
SHARE_PARTITION = "shared:AAECAwQFBgcICQoLDA0ODw:0"
"""The coordinator key of a share partition."""
