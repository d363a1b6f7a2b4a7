"""``odradek transactions``: one module for each action."""
