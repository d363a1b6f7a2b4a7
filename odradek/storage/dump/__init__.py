"""``odradek dump-log``: prints the files of a log directory as text or JSON, offline, with their damage."""
