"""``odradek dump-log``: the files of a log directory as text or JSON, offline, and what is wrong with them."""
