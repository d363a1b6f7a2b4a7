"""The error with which the admin port refuses a request. Pure."""


class AdminPortError(Exception):
    """A request that is not served: the HTTP status, and a message for the author of the test."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
