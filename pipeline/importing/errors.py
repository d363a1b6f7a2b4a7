"""What keeps an import from being made."""


class ImportRefusedError(Exception):
    """The input or the directory is not as it must be; the text says what and where. Nothing is served then."""
