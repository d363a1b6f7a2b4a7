"""The only place where storage touches files (being filled in)."""


class Files:
    """The real file system; tests pass one that fails."""
