"""What the admin port refuses. Pure."""


class AdminPortError(Exception):
    """A request that is not served: an HTTP status, and a sentence for whoever wrote the test."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
