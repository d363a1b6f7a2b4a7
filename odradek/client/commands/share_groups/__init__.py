"""``odradek share-groups``: one module for each action."""
