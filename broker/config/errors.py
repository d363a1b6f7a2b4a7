"""The one exception for a configuration that can't be used."""

from collections.abc import Sequence


class ConfigError(Exception):
    """The configuration can't be used; ``problems`` holds one sentence for each thing that is wrong.

    All problems of one load are collected, so that somebody mends them in one go.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))
