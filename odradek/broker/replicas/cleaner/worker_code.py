"""The code of the cleaner's worker process, taken from this broker's memory.

Owns: a copy of the compiled modules that the worker needs. After a ``pip install -U`` during the broker's run, a worker
that read them from the disk would have another version, and the two could not exchange data. The copy is read seconds
after the start, while the installation is still the same.
"""

import marshal
import pickle
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib.machinery import SourceFileLoader

ROOMS = ("odradek.protocol", "odradek.storage")
LEFT_OUT = ("odradek.protocol.messages", "odradek.protocol.reference", "odradek.storage.check", "odradek.storage.dump")
"""Packages that the worker does not need."""

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
"""The program of the worker's interpreter. It loads its modules from its input, not from the disk."""

NAMESPACE = marshal.dumps(compile("", "<odradek>", "exec"))


class WorkerCode:
    """The copy of the modules."""

    def __init__(self) -> None:
        self._modules: dict[str, tuple[bool, bytes]] = {"odradek": (True, NAMESPACE)}
        self._is_complete = False

    def read(self) -> Iterator[Callable[[], None]]:
        """Steps, each of which copies a loaded module: 1 to 3 ms of work. A step that raises OSError may be repeated.

        The copy is complete after the last step.
        """
        for name in [name for name in sorted(sys.modules) if is_needed(name)]:
            yield partial(self._copy, name)
        self._is_complete = True

    def _copy(self, name: str) -> None:
        spec = sys.modules[name].__spec__
        assert spec is not None
        assert spec.origin is not None
        # Not with the module's own loader: under pytest that may rewrite asserts.
        code = SourceFileLoader(name, spec.origin).get_code(name)
        self._modules[name] = spec.submodule_search_locations is not None, marshal.dumps(code)

    def command(self) -> tuple[list[str], bytes]:
        """The arguments of the worker's interpreter, and the beginning of its input. Until the last step of `read` has
        run, the worker loads its modules from the disk.
        """
        if not self._is_complete:
            return ["-m", "odradek.storage.compaction.worker"], b""
        return ["-c", BOOTSTRAP], pickle.dumps(self._modules)


def is_needed(name: str) -> bool:
    """Whether a worker needs this module."""
    return _is_within(name, ROOMS) and not _is_within(name, LEFT_OUT)


def _is_within(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(package + ".") for package in packages)
