"""The error that ends an import before it has made anything visible."""


class ImportRefusedError(Exception):
    """The input or the log directory can't be used. The text says why and where. No topic was created."""
