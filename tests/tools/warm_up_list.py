"""Writes ``server/warm_up_modules.py``: what the broker imports a second after its start (``make warm-up``).

The list is derived. A module that a start leaves out is imported lazily or inside a function (:func:`late_imports`) of
a module which a start or the list has. Handlers, messages and assignors are imported by their names.
What a start itself imports under some configurations is left out (:data:`AT_START`). Each module comes after those that
it imports, so that no turn of the event loop imports many.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator, Set
from graphlib import TopologicalSorter
from pathlib import Path

from odradek.broker.dispatch.served import SERVED
from odradek.broker.lanes.lanes import LANES
from odradek.protocol.apis.api_keys import api

ROOT = Path(__file__).parents[2]
TARGET = ROOT / "odradek" / "broker" / "server" / "warm_up_modules.py"
HEADER = '"""The modules that :mod:`.warm_up` imports, in this order. Written by ``make warm-up``."""\n\nMODULES = (\n'
PACKAGES = ("odradek.broker", "odradek.protocol", "odradek.storage")
LOADED = """
import sys
from importlib import import_module
import odradek.broker.server.commands
from odradek.protocol.common.lazy_imports import execute, is_waiting
for name in sys.argv[1:]:
    execute(import_module(name))
for name, module in list(sys.modules.items()):
    if not is_waiting(module):
        print(name, getattr(module, "__file__", None) or "-")
"""
AT_START = {
    "uvloop": "imported before the loop runs",
    "resource": "imported at the start",
    "crc32c": "imported at the start",
    "importlib.metadata": "the version, at the start",
    "ctypes": "the cleaner's process",
    "odradek.broker.network.queued_requests": "queued.max.request.bytes is set",
    "odradek.broker.server.metrics": "metrics are configured",
    "odradek.broker.metrics.controller_metrics": "metrics are configured",
    "odradek.broker.server.console_listener": "the console is configured",
    "odradek.broker.server.console_settings": "the console is configured",
    "odradek.broker.server.first_topics": "the start creates topics",
    "odradek.broker.server.cluster_member": "a broker of a cluster",
    "odradek.broker.transactions.peers": "a broker of a cluster",
    "odradek.broker.share_state.remote": "a broker of a cluster",
    "odradek.broker.security.authorization.standard_authorizer": "an authorizer is configured",
    "odradek.broker.security.authorization.guard": "an authorizer is configured",
    "odradek.broker.security.tls.http_tls": "the metrics have TLS",
    "odradek.protocol.security.tls_context": "the metrics have TLS",
    "odradek.broker.security.tls.listener": "a listener has TLS",
    "odradek.broker.security.tls.listeners": "a listener has TLS",
    "odradek.broker.config.sasl": "a listener uses SASL",
    "odradek.broker.security.authentication.sasl_listener": "a listener uses SASL",
    "odradek.broker.security.authentication.sasl_mechanisms": "a listener uses SASL",
    "odradek.broker.security.authentication.scram_decoys": "a listener uses SASL",
    "odradek.broker.security.authentication.failures": "a listener uses SASL",
    "odradek.broker.server.scram_secret": "a listener uses SASL",
}
"""Modules that a start imports, if it is configured so."""
SLOW = ("pdb",)
"""Modules that other libraries import. Each gets a turn of its own."""


def late_imports(path: Path, package: str) -> Iterator[str]:
    """The modules that a file imports in ``with lazy_imports:`` or inside functions, as absolute names."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or (
            isinstance(node, ast.With) and ast.unparse(node.items[0]) == "lazy_imports"
        ):
            yield from _imports(node, package)


def _imports(tree: ast.AST, package: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.rsplit(".", node.level - 1)[0] if node.level else ""
            origin = ".".join(part for part in (base, node.module) if part)
            for alias in node.names:
                yield f"{origin}.{alias.name}" if _is_module(f"{origin}.{alias.name}") else origin


def _is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def loaded_with(names: Set[str]) -> dict[str, Path]:
    """The modules of a process that has imported the broker and these, with their files."""
    command = [sys.executable, "-c", LOADED, *sorted(names)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return {name: Path(file) for name, file in (line.split(" ", 1) for line in run.stdout.splitlines())}


def derived() -> list[str]:
    """The modules in the order in which they are to be imported."""
    wanted = by_name()
    at_start = loaded_with(set())
    loaded = loaded_with(wanted)
    while more := _late(loaded) - loaded.keys():
        wanted |= more
        loaded = loaded_with(wanted)
    ours = {name for name in loaded if name not in at_start and name.startswith(PACKAGES)}
    direct = {name for module in ours for name in _imports_of(module, loaded[module])}
    new = ours | {name for name in direct | wanted if name in loaded and name not in at_start and "." not in name}
    return [*SLOW, *_in_order(loaded, new | wanted)]


def by_name() -> set[str]:
    """What is imported by a name that the code puts together."""
    handlers = {f"odradek.broker.api.{name}" for name in SERVED.values()}
    messages = {api(api_key).request_class().__module__ for api_key in SERVED}
    assignors = {f"odradek.broker.groups.consumer.assignors.{name}" for name in ("range", "uniform")}
    lanes = {f"odradek.broker.lanes.{module}" for module, _ in LANES.values()}
    return handlers | messages | assignors | lanes


def _late(loaded: dict[str, Path]) -> set[str]:
    """What functions of the loaded modules of ours import, but not at the start."""
    ours = {name: path for name, path in loaded.items() if name.startswith(PACKAGES) and path.suffix == ".py"}
    return {late for name, path in ours.items() for late in late_imports(path, _package(name, path))} - AT_START.keys()


def _imports_of(name: str, path: Path) -> set[str]:
    """What a module imports, at once or late."""
    if path.suffix != ".py" or not name.startswith(PACKAGES):
        return set()
    return set(_imports(ast.parse(path.read_text()), _package(name, path)))


def _package(name: str, path: Path) -> str:
    return name if path.name == "__init__.py" else name.rpartition(".")[0]


def _in_order(files: dict[str, Path], names: Set[str]) -> list[str]:
    """The modules, each after those that it imports at once; otherwise by name."""
    graph = {}
    for name in sorted(names):
        path = files[name]
        before = _imports_of(name, path) | {name.rpartition(".")[0]}
        if name.startswith(PACKAGES):
            before -= set(late_imports(path, _package(name, path)))
        graph[name] = sorted((before - {name}) & names)
    return list(TopologicalSorter(graph).static_order())


def text() -> str:
    """What the file is to hold."""
    return HEADER + "".join(f'    "{name}",\n' for name in derived()) + ")\n"


if __name__ == "__main__":
    TARGET.write_text(text())
