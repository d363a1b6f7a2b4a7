"""Finds the tests that use each module of ``tests/support/``. A module that one folder uses belongs in that folder.

Never: imports the tests. It reads import statements, and module names in strings, by which subprocesses start them.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

NAME = re.compile(r"support(?:\.\w+)+")


def names_of_support(source: str) -> Iterator[str]:
    """The names below ``support`` that a module imports or contains in strings."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "support":
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from NAME.findall(node.value)


def users(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """Maps each module of ``support`` to the paths outside ``support`` that use it, directly or through other modules.

    ``sources``: path relative to the tests' folder -> text.
    """
    modules = {path: path.removesuffix(".py").replace("/", ".") for path in sources if path.startswith("support/")}
    known = set(modules.values())
    direct: dict[str, set[str]] = {module: set() for module in known}
    for path, source in sources.items():
        for name in known.intersection(names_of_support(source)):
            direct[name].add(path)
    found: dict[str, set[str]] = {}
    for module in known:
        seen: set[str] = set()
        waiting = [module]
        while waiting:
            new = direct[waiting.pop()] - seen
            seen |= new
            waiting += [modules[path] for path in new if path in modules]
        found[module] = seen - set(modules)
    return found


def misplaced(sources: Mapping[str, str]) -> dict[str, str]:
    """Maps each module of ``support`` that only one folder directly below the tests uses to that folder."""
    found = {}
    for module, paths in users(sources).items():
        folders = {Path(path).parts[0] if "/" in path else "" for path in paths}
        if len(folders) == 1 and (folder := folders.pop()):
            found[module] = folder
    return found
