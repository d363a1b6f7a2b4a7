"""The scheduler of pytest-xdist by files and folders, in the order of ``order.py``."""

from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from support.order import unit


class Workers(LoadScopeScheduling):
    """Gives each worker the next file or folder when it is almost done with the one before."""

    def __init__(self, config: pytest.Config, log: Any = None) -> None:
        config.option.loadscopereorder = False  # True starts with the files of most tests, which are the fastest
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid)
