"""The one exception for a configuration that can't be used."""

from collections.abc import Sequence


class ConfigError(Exception):
    """The configuration can't be used. ``problems`` has one sentence for each problem.

    All problems of one load are collected, so that the user can fix them together.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))
