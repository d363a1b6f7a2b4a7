"""Access control lists (ACLs), and the rule that decides by them (``StandardAuthorizer``)."""
