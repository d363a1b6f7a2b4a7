"""Finds functions, methods, properties and classes that nothing in the package uses, with vulture.

A name counts as used if the code has it, also in a text (``"module:function"``, names of attributes), or if a page of
``docs/`` has it, which are for users of the client and of the fixtures. What only tests call is dead: it belongs to
the tests. ``python tests/tools/dead_code.py`` prints what is dead.
"""

import ast
import re
from fnmatch import fnmatch
from pathlib import Path

from vulture import Vulture

ROOT = Path(__file__).parents[2]
SOURCES = [*sorted((ROOT / "odradek").rglob("*.py")), ROOT / "pyspark_odradek.py"]
KINDS = ("class", "function", "method", "property")
GENERATED = "odradek/protocol/messages/*"
DECORATORS = ["@*.command", "@pytest.fixture", "@pytest.hookimpl"]
CALLED_BY_OTHERS = {
    "odradek/protocol/codec/runtime.py": "*",  # called by the generated codecs
    "odradek/broker/*": "eof_received",  # asyncio.Protocol
    "odradek/broker/config/image_variables.py": "of_bitnami of_secrets",  # docker/entrypoint.py
    "odradek/broker/share_state/*persister.py": "summarize",  # for the description of share groups
    "odradek/client/commands/abbreviations.py": "get_command",  # click.Group
    "odradek/pipeline/engine/spark_tasks.py": "zero addInPlace",  # Spark's accumulators
    "odradek/pipeline/spark/*": "*",  # Spark's data sources
    "odradek/protocol/security/jwt_retriever.py": "redirect_request",  # urllib
    "odradek/testing/security/certificates.py": "*",  # our own tests make all kinds of certificates with it
    "odradek/testing/*": "__getattr__ log_message send_error pytest_*",  # Python, http.server, pytest
}
"""File -> the names in it that other code calls."""
CALLED_BY_TESTS = {
    "odradek/protocol/records/builder.py": "encode_batch",  # four fifths of the tests that need a batch
    "odradek/protocol/reference/wire.py": "encode_as",  # the oracle of the codec encodes, too
    "odradek/storage/directory/log_directory.py": "truncate_log",  # the crash simulator truncates with it
}
"""File -> the names in it that only tests call, and that are better where they are."""


def dead_code() -> list[str]:
    """A line for each name that is not used, with its file and line."""
    finder = Vulture(ignore_decorators=DECORATORS)
    finder.scavenge([str(path) for path in SOURCES])
    used = words_of_texts() | words_of_pages()
    lines = []
    for item in finder.get_unused_code(min_confidence=60):
        path = Path(item.filename).relative_to(ROOT).as_posix()
        excused = [
            name
            for pattern, names in {**CALLED_BY_OTHERS, **CALLED_BY_TESTS, GENERATED: "*"}.items()
            if fnmatch(path, pattern)
            for name in names.split()
        ]
        if item.typ in KINDS and item.name not in used and not any(fnmatch(item.name, name) for name in excused):
            lines.append(f"{path}:{item.first_lineno}: the {item.typ} {item.name} is not used")
    return sorted(lines)


def words_of_texts() -> set[str]:
    """Names in texts of the code without spaces, such as the entry points of commands."""
    words: set[str] = set()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " not in node.value:
                words.update(re.findall(r"\w+", node.value))
    return words


def words_of_pages() -> set[str]:
    """Names in the pages."""
    return {word for page in (ROOT / "docs").rglob("*.md") for word in re.findall(r"\w+", page.read_text())}


if __name__ == "__main__":
    print("\n".join(dead_code()))
