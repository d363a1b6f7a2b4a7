"""Finds comparisons of secrets that stop at the first difference: ``==`` and ``!=`` with the name of a secret.

The time of such a comparison reveals how much of a guess is right (CVE-2021-38153). The time of
``hmac.compare_digest`` does not.
"""

import ast
import re
from collections.abc import Iterator

SECRET = re.compile(
    r"(^|_)(password|passwords|secret|secrets|proof|hmac|signature|credential|credentials|stored_key|server_key"
    r"|client_key|salted|digest)$"
)
EARLY = (ast.Eq, ast.NotEq)


def name_of(node: ast.AST) -> str:
    """The last part of the name of a variable, attribute, call or item; empty for other expressions."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Call):
        return name_of(node.func)
    if isinstance(node, ast.Subscript):
        return name_of(node.value)
    return node.id if isinstance(node, ast.Name) else ""


def is_plain(node: ast.AST) -> bool:
    """Returns True for a constant that holds no secret: empty, None, or a number."""
    return isinstance(node, ast.Constant) and (not node.value or isinstance(node.value, int))


def early_comparisons(tree: ast.AST) -> Iterator[ast.Compare]:
    """The comparisons of secrets, except those with an empty constant, which only check if there is a secret."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Compare) or not any(isinstance(one, EARLY) for one in node.ops):
            continue
        sides = [node.left, *node.comparators]
        if any(SECRET.search(name_of(one)) for one in sides) and not any(is_plain(one) for one in sides):
            yield node
