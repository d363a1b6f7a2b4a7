"""Finds tasks, callbacks and threads of the event loop that are not started by ``broker/timers/work``.

Only that module catches, names and counts what they raise. The room ``timers`` drives the event loop itself.
"""

import ast

METHODS = frozenset(
    {
        "create_task",
        "ensure_future",
        "call_soon",
        "call_soon_threadsafe",
        "call_later",
        "call_at",
        "add_done_callback",
        "add_reader",
        "add_writer",
        "TaskGroup",
        "run_in_executor",
        "to_thread",
        "Thread",
    }
)
ROOM = "broker/timers/"


def started_elsewhere(path: str, source: str) -> list[str]:
    """``path:line: name`` of each call in a module of the broker that starts work past the one place."""
    if not path.startswith("broker/") or path.startswith(ROOM):
        return []
    return [
        f"{path}:{node.lineno}: {node.attr}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute) and (node.attr in METHODS or _submits_to_a_pool(node))
    ]


def _submits_to_a_pool(node: ast.Attribute) -> bool:
    """Whether it is the method ``submit`` of something that is called a pool."""
    owner = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
    return node.attr == "submit" and owner.endswith("pool")


def names_of_kinds(source: str) -> list[str]:
    """The names of the kinds of work that a module registers."""
    return [
        str(call.args[0].value)
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "KindOfWork"
        if isinstance(call.args[0], ast.Constant)
    ]
