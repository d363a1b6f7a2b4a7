"""``ssl.principal.mapping.rules``: maps the name in a client's certificate to a principal's name. Pure.

Owns: the rules and their application. Never does: reading certificates. Invariants: the first rule that matches the
whole name decides; if none does, the client is refused. Source: ``SslPrincipalMapper``.

    DEFAULT                               the name as it is
    RULE:pattern/replacement/             the pattern's matches are replaced; $1 is its first group
    RULE:pattern/replacement/L            the same in lower case (U: in upper case)
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

_RULE = r"(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?).*?|(.*?)"
_SPLITTER = re.compile(rf"\s*({_RULE})\s*(?:,\s*|$)")
_PARSER = re.compile(_RULE)
_JAVA_GROUP = re.compile(r"\(\?<([a-zA-Z][a-zA-Z0-9]*)>")
_REFERENCE = re.compile(r"\\(.)|\$\{([a-zA-Z][a-zA-Z0-9]*)\}|\$(\d+)|(\$|\\)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; without a pattern it is DEFAULT."""

    pattern: re.Pattern[str] | None
    replacement: str = ""
    case: str = ""

    def apply(self, name: str) -> str | None:
        """The principal's name; None if the rule does not match."""
        if self.pattern is None:
            return name
        if self.pattern.fullmatch(name) is None:
            return None
        result = self.pattern.sub(self._replaced, name)
        if self.case:
            result = result.lower() if self.case == "L" else result.upper()
        return result

    def _replaced(self, match: "re.Match[str]") -> str:
        return _REFERENCE.sub(lambda reference: self._referenced(reference, match), self.replacement)

    def _referenced(self, reference: "re.Match[str]", match: "re.Match[str]") -> str:
        escaped, name, digits, _ = reference.groups()
        if escaped is not None:
            return str(escaped)
        if name is not None:
            return match[name] or ""
        taken, rest = _group_number(digits, match.re.groups)
        return ("$" + digits) if taken is None else (match[taken] or "") + rest


def parse_rules(text: str) -> tuple[Rule, ...]:
    """The rules of a value. Raises ValueError with the rule and its position for one that is malformed."""
    rules = []
    for found in _SPLITTER.finditer(text.strip()):
        rule, position = found[1], found.start(1)
        parsed = _PARSER.match(rule)
        assert parsed is not None, "an empty match is always possible"
        if parsed.end() != len(rule):
            raise ValueError(f"rule {rule!r} at character {position}: {rule[parsed.end() :]!r} is not part of a rule")
        default, pattern, replacement, case, _ = parsed.groups()
        if default is not None:
            rules.append(Rule(None))
        elif pattern is not None:
            rules.append(_rule(pattern, replacement, case, f"rule {rule!r} at character {position}"))
    return tuple(rules)


def mapper(rules: tuple[Rule, ...]) -> Callable[[str], str | None]:
    """The function from a certificate's name to the principal's name; None if no rule matches."""

    def mapped(name: str) -> str | None:
        return next((found for found in (rule.apply(name) for rule in rules) if found is not None), None)

    return mapped


def _rule(pattern: str, replacement: str, case: str, place: str) -> Rule:
    try:
        compiled = re.compile(_JAVA_GROUP.sub(r"(?P<\1>", pattern))
    except re.error as error:
        raise ValueError(f"{place}: the pattern is not a regular expression: {error}") from None
    for _, name, digits, stray in (reference.groups() for reference in _REFERENCE.finditer(replacement)):
        unknown_group = digits is not None and not compiled.groups and int(digits) > 0
        if stray is not None or unknown_group or (name is not None and name not in compiled.groupindex):
            raise ValueError(f"{place}: the replacement refers to a group that the pattern does not have")
    return Rule(compiled, replacement, case)


def _group_number(digits: str, groups: int) -> tuple[int | None, str]:
    """The group that the digits after ``$`` name, and the digits that follow it; None if the pattern has no such group.

    As in Java: as many digits as name a group. ``$4`` with three groups is the text ``$4``.
    """
    number = int(digits[0])
    if number > groups:
        return None, ""
    length = 1
    while length < len(digits) and number * 10 + int(digits[length]) <= groups:
        number = number * 10 + int(digits[length])
        length += 1
    return number, digits[length:]
