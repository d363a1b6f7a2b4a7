"""Checks that a module whose docstring says ``Pure.`` has no I/O, clock, randomness, task, thread or log line.

    Pure                             at the start of a sentence: nothing impure at all
    Pure but for log lines           the module may log
    Pure but for the given logs      it reads or writes, but only through objects that it is given; `the given ...` may
                                     name any kind of object, and `and` joins two exceptions

The claim in the ``__init__.py`` of a package applies to every module of the package. A module there that does I/O
says ``Shell.`` in its own docstring. Names that are only imported under ``TYPE_CHECKING`` do not count.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

EXCEPTION = re.compile(r"log lines|the given [a-z ]+")

CLAIM = re.compile(r"(?:^|[.;:]\s+)Pure\b(?:\s+but\s+for\s+([^.;,:]+))?", re.MULTILINE)
SHELL = re.compile(r"(?:^|[.;:]\s+)Shell\.", re.MULTILINE)

IMPURE_MODULES = frozenset(
    [
        "asyncio",
        "concurrent",
        "fcntl",
        "glob",
        "http",
        "logging",
        "multiprocessing",
        "os",
        "queue",
        "resource",
        "secrets",
        "select",
        "selectors",
        "shutil",
        "signal",
        "socket",
        "ssl",
        "subprocess",
        "tempfile",
        "threading",
        "time",
        "urllib",
        "uvloop",
    ]
)
IMPURE_NAMES = re.compile(
    r"^(?:random\.(?!Random$)\w+|datetime\.(?:datetime\.|date\.)?(?:now|utcnow|today)|date\.today|uuid\.uuid[14]"
    r"|sys\.(?:argv|exit|std(?:in|out|err))|importlib\.resources|io\.(?:open|FileIO)|click\.(?:echo|secho|prompt|confirm))\b"
)
IMPURE_CALLS = re.compile(r"^(?:open|print|input|breakpoint|Random|random\.Random)$")
FILE_METHODS = frozenset(
    [
        "exists",
        "glob",
        "is_dir",
        "is_file",
        "iterdir",
        "mkdir",
        "open",
        "read_bytes",
        "read_text",
        "resolve",
        "rglob",
        "rmdir",
        "stat",
        "touch",
        "unlink",
        "write_bytes",
        "write_text",
    ]
)


def dotted(node: ast.AST) -> str:
    """The text of a chain of attributes, such as ``os.path.join``. Other expressions become empty parts."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def claim_of(docstring: str) -> frozenset[str] | None:
    """The exceptions that a docstring's claim names; empty for ``Pure.``. Returns None without a claim.

    Raises ValueError for an exception that cannot be checked.
    """
    match = CLAIM.search(docstring)
    if match is None:
        return None
    exceptions = frozenset(" ".join(text.split()) for text in (match[1] or "").split(" and ")) - {""}
    if unknown := [text for text in sorted(exceptions) if not EXCEPTION.fullmatch(text)]:
        raise ValueError(f'"Pure but for {unknown[0]}" cannot be checked: say what the module does instead')
    return exceptions


@cache
def _docstring(source: str) -> str:
    return ast.get_docstring(ast.parse(source)) or ""


def claim_at(path: Path, root: Path) -> frozenset[str] | None:
    """The claim for the module at ``path``: its own, or else the claim of the nearest package below ``root``."""
    docstring = _docstring(path.read_text())
    own = claim_of(docstring)
    if own is not None or SHELL.search(docstring):
        return own
    for folder in path.parents:
        if folder == root:
            break
        init = folder / "__init__.py"
        if init != path and init.is_file():
            claim = claim_of(_docstring(init.read_text()))
            if claim is not None:
                return claim
    return None


def impurities(source: str, exceptions: frozenset[str]) -> list[str]:
    """The impure uses in a module's source that no exception allows, each with line and name."""
    tree = ast.parse(source)
    types_only = {id(node) for branch in ast.walk(tree) if _is_type_checking(branch) for node in ast.walk(branch)}
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    imported = {(alias.asname or alias.name).partition(".")[0] for node in imports for alias in node.names}
    found = [
        (getattr(node, "lineno", 0), name)
        for node in ast.walk(tree)
        if id(node) not in types_only
        for name in _impure_names(node, imported)
    ]
    if "log lines" in exceptions:
        found = [(line, name) for line, name in found if name.partition(".")[0] != "logging"]
    if any(text.startswith("the given") for text in exceptions):
        found = [(line, name) for line, name in found if not name.startswith("Path.")]
    return [f"{line}: {name}" for line, name in sorted(set(found))]


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and dotted(node.test).endswith("TYPE_CHECKING")


def _impure_names(node: ast.AST, imported: set[str]) -> Iterator[str]:
    if isinstance(node, ast.AsyncFunctionDef | ast.Await):
        yield "async"
    elif isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if _impure(alias.name))
    elif isinstance(node, ast.ImportFrom) and not node.level:
        yield from (name for alias in node.names if _impure(name := f"{node.module}.{alias.name}"))
    elif isinstance(node, ast.Attribute) and IMPURE_NAMES.match(name := dotted(node)):
        if name.partition(".")[0] in imported:  # else `random` may be a parameter
            yield name
    elif isinstance(node, ast.Call):
        name = dotted(node.func)
        if IMPURE_CALLS.match(name) and not ("Random" in name and node.args):  # Random(seed) is deterministic
            yield name
        if imported & {"Path", "pathlib"} and isinstance(node.func, ast.Attribute) and node.func.attr in FILE_METHODS:
            yield f"Path.{node.func.attr}"


def _impure(name: str) -> bool:
    return name.partition(".")[0] in IMPURE_MODULES or bool(IMPURE_NAMES.match(name))
