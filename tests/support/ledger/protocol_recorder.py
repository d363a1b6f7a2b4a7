"""Records which client sent which version of which API during which test.

Runs in the process of the broker: in pytest's own, and in brokers that tests start as processes (``sitecustomize``
beside this file). Only the standard library is imported, because such a process does not have tests/ on its path.

Owns: the file ``seen.jsonl`` in the directory that the environment variable :data:`DIRECTORY` names. Each line is one
new combination of test, API key, version and client. Lines are short and appended by one write, so that several
processes share the file and a killed one loses nothing.
"""

import json
import mmap
import os
from functools import lru_cache
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import Any

DIRECTORY = "PROTOCOL_LEDGER_DIRECTORY"
"""The environment variable with the directory of a recording; recording is off if it is not set."""

SEEN, CURRENT = "seen.jsonl", "current-test"
NAME_BYTES = 4096
"""The size of the file with the current test's node id, which is padded with zero bytes."""

DISPATCH = "odradek.broker.dispatch.dispatch"
API_VERSIONS = 18


class _Recording:
    """An open recording."""

    def __init__(self, directory: Path) -> None:
        with (directory / CURRENT).open("rb") as file:
            self._current = mmap.mmap(file.fileno(), NAME_BYTES, prot=mmap.PROT_READ)
        self._out = os.open(directory / SEEN, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._known: set[tuple[object, ...]] = set()

    def note(self, api_key: int, version: int, software: tuple[str, str] | None, client_id: str | None) -> None:
        """Writes a line if the combination is new."""
        test = self._current[:NAME_BYTES].rstrip(b"\0")
        combination = (test, api_key, version, software, client_id)
        if combination in self._known:
            return
        self._known.add(combination)
        line = [test.decode(), api_key, version, software, None if client_id is None else client_id[:100]]
        os.write(self._out, json.dumps(line).encode() + b"\n")


@lru_cache(maxsize=1)
def _recording() -> _Recording:
    return _Recording(Path(os.environ[DIRECTORY]))


def record(dispatcher_class: Any) -> None:
    """Notes every request that a ``Dispatcher`` hands to a handler, from now on.

    Dispatchers that are made from now on have no lanes: those would answer ApiVersions, which names the client,
    and other small requests without a handler.
    """
    make, serve = dispatcher_class.__init__, dispatcher_class._serve

    def make_without_lanes(self: Any, *arguments: Any, **named: Any) -> None:
        make(self, *arguments, **named)
        self._lanes = None

    def serve_and_note(
        self: Any, connection: Any, route: Any, correlation_id: int, client_id: str | None, request: Any, *rest: Any
    ) -> None:
        software = self.__dict__.setdefault("software_of_connections", {})
        if route.api_key == API_VERSIONS and request is not None and request.client_software_name:
            software[connection.connection_id] = (request.client_software_name, request.client_software_version)
        _recording().note(route.api_key, route.version, software.get(connection.connection_id), client_id)
        serve(self, connection, route, correlation_id, client_id, request, *rest)

    dispatcher_class.__init__, dispatcher_class._serve = make_without_lanes, serve_and_note


class RecordOnImport(MetaPathFinder):
    """Records from the moment at which a process imports the dispatcher, if it ever does."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        """Finds the dispatcher's module as without this finder, with :class:`_Recorded` as its loader."""
        if fullname != DISPATCH:
            return None
        import sys

        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Recorded(spec.loader)
        return spec


class _Recorded(Loader):
    """Loads the dispatcher's module and wraps its class."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        self._loader.exec_module(module)
        record(module.Dispatcher)
