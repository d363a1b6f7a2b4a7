"""Regular expressions over topic names, in RE2's syntax and meaning: linear time, no look-around, no back reference.

Owns: validating patterns and matching whole names. Never does: keeping results, leaving out internal topics (Kafka
matches them too). Invariants: pure; the library is imported with the first pattern. Source:
``TopicRegexResolver``, ``Utils.throwIfRegularExpressionIsInvalid``; Kafka has RE2/J, this is RE2 itself
(docs/differences.md says where they differ).
"""

from collections.abc import Iterable
from typing import Any

from odradek.protocol.common.lazy_imports import lazy_imports

with lazy_imports:
    import re2

_RE2J_WORDS = {
    "bad repetition operator": "invalid nested repetition operator",
    "invalid named capture group": "invalid named capture",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid repetition size": "invalid repeat count",
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "trailing \\": "trailing backslash at end of expression",
    "unexpected )": "regexp/syntax: internal error",
}
"""Error texts of RE2 -> those of RE2/J, which Kafka sends. Other texts are the same in both."""


def validate(pattern: str) -> str | None:
    """Returns the error of RE2/J for an invalid pattern; None for a valid one."""
    compiled = compile_pattern(pattern)
    return compiled if isinstance(compiled, str) else None


def matching(pattern: str, topic_names: Iterable[str]) -> frozenset[str]:
    """Returns the names that the pattern matches from first to last character; none for an invalid pattern."""
    compiled = compile_pattern(pattern)
    if isinstance(compiled, str):
        return frozenset()
    return frozenset(filter(compiled.fullmatch, topic_names))


def compile_pattern(pattern: str) -> Any:
    """Returns the compiled pattern, which the library caches, or the text of its error."""
    options = re2.Options()
    options.log_errors = False  # else the library itself writes to standard error
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        kind, _, where = error.args[0].decode("utf-8", "replace").partition(": ")
        if where.startswith("(?<"):
            return "invalid named capture"
        return _RE2J_WORDS.get(kind, kind)
