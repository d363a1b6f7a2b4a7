"""The generated part of docs/configuration.md: the keys with an effect, with their types, defaults and rules.

``python -m odradek.broker.config.document docs/configuration.md`` writes it between the two marks of that page.
"""

import sys
from pathlib import Path

from .definition import server_keys
from .effective import EFFECTIVE
from .stored import READ_AT_START
from .typed_values import OUR_DEFAULTS
from .validators import allowed

BEGIN = "<!-- generated: keys with effect -->"
END = "<!-- end of generated -->"


def effective_table() -> str:
    """The keys with an effect as a Markdown table, in alphabetical order."""
    lines = ["| key | type | default | values | dynamic | what it does |", "|---|---|---|---|---|---|"]
    for key in sorted(EFFECTIVE):
        definition = server_keys()[key]
        default = OUR_DEFAULTS.get(key, definition.default)
        shown = "" if default is None else f"`{default}`" if default else "(empty)"
        if key in OUR_DEFAULTS:
            shown += f" (Kafka: {'required' if not definition.has_default else f'`{definition.default}`'})"
        is_fixed = definition.update_mode == "read-only" or key in READ_AT_START
        change = "" if is_fixed else definition.update_mode
        cells = (f"`{key}`", definition.type.lower(), shown, allowed(definition), change, EFFECTIVE[key])
        lines.append("| " + " | ".join(cells).replace("  ", " ") + " |")
    return "\n".join(lines)


def with_table(page: str) -> str:
    """The page with the table between its marks. Raises ValueError if a mark is missing."""
    before, found_begin, rest = page.partition(BEGIN)
    _, found_end, after = rest.partition(END)
    if not (found_begin and found_end):
        raise ValueError(f"the page lacks {BEGIN} or {END}")
    return f"{before}{BEGIN}\n{effective_table()}\n{END}{after}"


def main(path: str) -> None:
    """Writes the table into the page at ``path``."""
    page = Path(path)
    page.write_text(with_table(page.read_text()))


if __name__ == "__main__":
    main(sys.argv[1])
