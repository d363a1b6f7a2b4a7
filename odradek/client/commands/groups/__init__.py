"""``odradek groups``: one module for each action."""
