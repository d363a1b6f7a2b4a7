"""The code of the cleaner's worker process, as this broker has it in memory.

Owns: a copy of the compiled modules that the worker needs. A worker that read them from the disk would be of another
version after ``pip install -U`` beside a running broker, and what the two exchange would not fit. The copy is read
while the installation is still the one that runs: seconds after the start.
"""

import marshal
import pickle
import sys
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader

ROOMS = ("odradek.protocol", "odradek.storage")
LEFT_OUT = ("odradek.protocol.messages", "odradek.protocol.reference", "odradek.storage.check", "odradek.storage.dump")
"""What the worker doesn't need."""

BOOTSTRAP = """
import sys, marshal, pickle
from importlib.machinery import ModuleSpec
class FromBroker:
    def __init__(self, modules):
        self.modules = modules
    def find_spec(self, name, path=None, target=None):
        if name in self.modules:
            return ModuleSpec(name, self, is_package=self.modules[name][0])
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        exec(marshal.loads(self.modules[module.__name__][1]), module.__dict__)
sys.meta_path.insert(0, FromBroker(pickle.load(sys.stdin.buffer)))
from odradek.storage.compaction.worker import main
main()
"""
"""What the worker's interpreter runs: it takes its modules from its input, whatever lies on the disk."""

NAMESPACE = marshal.dumps(compile("", "<odradek>", "exec"))


class WorkerCode:
    """The modules, once they are read."""

    def __init__(self) -> None:
        self._modules: dict[str, tuple[bool, bytes]] = {"odradek": (True, NAMESPACE)}
        self._is_complete = False

    def read(self) -> Iterator[None]:
        """Reads the modules that are loaded, one in each step: 1 to 3 ms of work."""
        for name in [name for name in sorted(sys.modules) if is_needed(name)]:
            spec = sys.modules[name].__spec__
            assert spec is not None
            assert spec.origin is not None
            # Not by the loader of its own: under pytest it may be one that rewrites asserts.
            code = SourceFileLoader(name, spec.origin).get_code(name)
            self._modules[name] = spec.submodule_search_locations is not None, marshal.dumps(code)
            yield
        self._is_complete = True

    def command(self) -> tuple[list[str], bytes]:
        """The arguments of the interpreter, and what its input begins with; the modules on the disk before `read`."""
        if not self._is_complete:
            return ["-m", "odradek.storage.compaction.worker"], b""
        return ["-c", BOOTSTRAP], pickle.dumps(self._modules)


def is_needed(name: str) -> bool:
    """Whether a worker needs this module."""
    return _is_within(name, ROOMS) and not _is_within(name, LEFT_OUT)


def _is_within(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(package + ".") for package in packages)
