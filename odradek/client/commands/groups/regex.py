"""``odradek groups --validate-regex``: whether a broker accepts a regular expression as a subscription (KIP-848).

Source: ``ConsumerGroupCommand.validateRegex``; the syntax is RE2's, which has no look-around and no back references.
"""

import click
import re2

from ..output import print_json


def validate_regex(pattern: str, *, as_json: bool) -> int:
    """Prints whether ``pattern`` is a valid RE2 regular expression. Returns exit code 0 if it is, otherwise 1."""
    reason = None
    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(pattern, options)
    except re2.error as error:
        reason = _text(error)
    if as_json:
        print_json({"regex": pattern, "valid": reason is None, "reason": reason})
    elif reason is None:
        click.echo(f"The regular expression `{pattern}` is valid.")
    else:
        click.echo(f"The regular expression `{pattern}` is invalid: {reason}.")
    return 0 if reason is None else 1


def _text(error: re2.error) -> str:
    cause = error.args[0] if error.args else error
    return cause.decode() if isinstance(cause, bytes) else str(cause)
