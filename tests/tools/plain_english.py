"""Finds text that a newcomer would have to decode: refused phrases, and docstrings that name a question.

Owns: the list of refused phrases, and the choice of text in a file that is searched.
Never: chooses the files or asserts anything; tests/test_tidy.py does.
"""

import ast
import io
import re
import tokenize

REFUSED = (
    "of so many", "so much", "who waits", "whom", "nobody", "somebody", "is no", "are none", "comes behind",
    "in front of", "is told", "is said", "what is to be", "as were it", "the greater", "meanwhile the", "for want of",
)  # fmt: skip
"""Phrases that a newcomer has to decode. Do not evade one: write the sentence anew, subject first."""

REFUSED_PHRASE = re.compile(
    r"\b(?:"
    + "|".join(phrase.replace(" ", r"[\s#\"'>|]+") for phrase in REFUSED).replace("none", "(?-i:none)")
    + r")\b",
    re.IGNORECASE,
)

NO_FACT = re.compile(r"(?:What|How|Who|Whom|Whose|When|Where|Which|Why)\b")
"""Matches a docstring that begins with a question word. A docstring must state a fact, with the subject first."""


def refused_phrases(text: str) -> list[str]:
    """The refused phrases in a text, each with its line. A phrase may continue on the next line of a comment."""
    return [
        f"{text.count(chr(10), 0, found.start()) + 1}: {' '.join(found[0].split())}"
        for found in REFUSED_PHRASE.finditer(text)
    ]


def prose(source: str) -> str:
    """The comments and the triple-quoted texts of a module, at their lines; everything else is left out."""
    lines = [""] * (source.count("\n") + 2)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        is_text = token.type == tokenize.STRING and '"""' in token.string[:6]
        if is_text or token.type == tokenize.COMMENT:
            for at, line in enumerate(token.string.split("\n"), token.start[0] - 1):
                lines[at] += line
    return "\n".join(lines)


def docstrings_without_a_fact(source: str) -> list[str]:
    """The docstrings of a module, its classes and functions that begin with a question word, each with its line."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, documented))
    return [
        f"{getattr(node, 'lineno', 1)}: {text.splitlines()[0]}"
        for node in nodes
        if (text := ast.get_docstring(node)) and NO_FACT.match(text)
    ]
