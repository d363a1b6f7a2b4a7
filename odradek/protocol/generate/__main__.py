"""``python -m odradek.protocol.generate``: generates the modules in ``protocol/messages/`` from the message table."""

from collections import defaultdict
from pathlib import Path

from ..apis.table import MessageSpec, messages
from .classes import module_source
from .families import families, family_of
from .index import apis_source, index_source

DIRECTORY = Path(__file__).parent.parent / "messages"


def generated() -> dict[str, str]:
    """The generated files: name -> text."""
    members: dict[str, list[MessageSpec]] = defaultdict(list)
    for spec in messages():
        members[family_of(spec)].append(spec)
    files = {f"{family}.py": module_source(about, members[family]) for family, about in families().items()}
    files["__init__.py"] = index_source(members)
    files["apis.py"] = apis_source(messages())
    return files


def main() -> None:
    """Writes the generated files."""
    for name, text in generated().items():
        (DIRECTORY / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
