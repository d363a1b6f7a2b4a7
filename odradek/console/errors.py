"""The errors that a view raises for its reader."""


class ConsoleError(Exception):
    """A request cannot be answered. The message is for the user."""

    def __init__(self, status: int, message: str, code: str = "") -> None:
        """``status``: of HTTP. ``code``: a name for programs, such as Kafka's names of errors."""
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code


class BadArgument(ConsoleError):  # noqa: N818 - it is what the page calls it
    """An argument is missing or has a value that is not allowed."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(400, f"{name}: {why}", "BAD_ARGUMENT")
        self.name = name
