"""``odradek topics apply`` and ``odradek topics export``: the topics of a cluster as a file."""
