"""Access control lists: what an ACL says, and the rule that decides (StandardAuthorizer)."""
