"""``odradek streams-groups``: one module for each action."""
