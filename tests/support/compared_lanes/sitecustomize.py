"""Compares lanes in brokers of other processes: Python imports it at its start, as its folder is on PYTHONPATH.

It waits until a broker of this repository imports its lanes, so that a process without a broker pays nothing. A test of
what a broker imports removes the variable of the folder for differences.
"""

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).parent
OURS = f"{HERE.parents[2]}{os.sep}odradek{os.sep}"
LANES = "odradek.broker.lanes.lanes"


class Finder:
    """Finds the module of the lanes, once, and wraps them after it was imported."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The module, with a loader that installs the comparison (:class:`importlib.abc.MetaPathFinder`)."""
        if name != LANES:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None or not str(spec.origin).startswith(OURS):
            return spec  # another revision, which may have other lanes
        loader: Any = spec.loader
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            _install()

        loader.exec_module = exec_module
        return spec


def _install() -> None:
    spec = spec_from_file_location("lane_comparison", HERE / "lane_comparison.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    module.install()


if "TESTS_LANE_DIFFERENCES" in os.environ:
    sys.meta_path.insert(0, Finder())
