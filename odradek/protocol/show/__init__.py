"""``odradek protocol``: the protocol as text, and bytes taken apart."""
