"""The entry points of the images: programs beside the package, which a test loads as modules."""

import importlib.util
from pathlib import Path
from types import ModuleType

DOCKER = Path(__file__).parents[2] / "docker"


def entry_point(name: str) -> ModuleType:
    """The module of a file below docker/."""
    spec = importlib.util.spec_from_file_location(f"odradek-{name}", DOCKER / name)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
