"""Finds tests that replace a constant of ``odradek``: an upper-case name of a module or a class.

What a test needs in another size is a parameter of the part that uses it. A patched constant misses the modules that
have imported it, and breaks when it moves. Programs in texts of tests are looked at, too.
"""

import ast
import re
from collections.abc import Iterator

CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]+")
PATCHES = frozenset({"setattr", "delattr", "object", "patch", "multiple", "dict"})
"""The functions of ``monkeypatch`` and ``unittest.mock`` that replace a name."""


def patched_constants(source: str) -> list[int]:
    """The lines that replace a constant, unless it belongs to a module that is not of ``odradek``."""
    return sorted(_patches(ast.parse(source)))


def _patches(tree: ast.AST) -> Iterator[int]:
    others = set(_other_modules(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func).rpartition(".")[2] in PATCHES:
            owner, names = _replaced(node)
            if owner.partition(".")[0] not in others and any(CONSTANT.fullmatch(name) for name in names):
                yield node.lineno
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if not isinstance(target, ast.Attribute) or not CONSTANT.fullmatch(target.attr):
                    continue
                if _name(target.value).partition(".")[0] not in others | {"self", "cls"}:
                    yield node.lineno
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" in node.value:
            try:
                program = ast.parse(node.value)
            except SyntaxError:
                continue
            yield from (node.lineno + line - 1 for line in _patches(program))


def _replaced(call: ast.Call) -> tuple[str, list[str]]:
    """The owner of what a call replaces, and its names. The owner is empty if it is not a plain name."""
    first = call.args[0] if call.args else None
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        owner, _, name = first.value.rpartition(".")
        return owner, [name]
    names = [argument.value for argument in call.args[1:2] if isinstance(argument, ast.Constant)]
    return _name(first), [*map(str, names), *(keyword.arg or "" for keyword in call.keywords)]


def _other_modules(tree: ast.AST) -> Iterator[str]:
    """The names that a module has imported from elsewhere than ``odradek``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for imported in node.names:
                if imported.name.partition(".")[0] != "odradek":
                    yield imported.asname or imported.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").partition(".")[0] != "odradek"):
            yield from (imported.asname or imported.name for imported in node.names)


def _name(node: ast.AST | None) -> str:
    """The dotted name of an expression; empty for any other."""
    if isinstance(node, ast.Attribute):
        return f"{_name(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""
