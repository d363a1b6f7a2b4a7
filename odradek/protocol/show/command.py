"""``odradek protocol``: prints the protocol and decodes bytes."""

import errno
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from ..apis.table import MessageSpec
from ..common.command_options import argument, either, flag, option, takes
from ..common.lazy_imports import lazy_imports
from ..errors import ProtocolError

with lazy_imports:
    from ..reference import dissect
    from . import show


@dataclass(frozen=True, kw_only=True)
class ApiListOptions:
    """The options of ``odradek protocol list``."""

    as_json: bool = flag("--json", help="print JSON")


@dataclass(frozen=True, kw_only=True)
class ShowOptions:
    """The arguments of ``odradek protocol show``."""

    name: str = argument()
    version: int | None = argument(required=False, type=int)
    kind: str | None = either(
        option("--request", flag_value="Request", help="only the request"),
        option("--response", flag_value="Response", help="only the response"),
    )
    source: str | None = option("--bytes", metavar="HEX|FILE|-", help="decode these bytes: offset, bytes, field, value")
    frame: bool = flag("--frame", help="the bytes are a whole frame, with size and header")
    as_json: bool = flag("--json", help="print JSON")


def protocol(arguments: Sequence[str]) -> int:
    """Runs ``odradek protocol ARGUMENTS``; exit code 1 for bytes that are not such a message, 2 for wrong usage."""
    try:
        return int(group.main(args=list(arguments), prog_name="odradek protocol", standalone_mode=False) or 0)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.exceptions.Abort:
        return 1


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Print the Kafka protocol that Odradek speaks; `show --bytes` decodes bytes with it."""


@group.command("list")
@takes(ApiListOptions)
def list_apis(options: ApiListOptions) -> int:
    """List every API: key, name, versions."""
    rows = [
        (
            str(request.api_key),
            request.name.removesuffix("Request"),
            str(request.versions),
            str(request.flexible_versions) if request.versions else "",
            ", ".join(request.listeners),
        )
        for request, _ in show.apis()
    ]
    names = ("key", "name", "versions", "flexible", "listeners")
    if options.as_json:
        click.echo(json.dumps([dict(zip(names, row, strict=True)) for row in rows], indent=2))
    else:
        click.echo("\n".join(show.columns([tuple(name.upper() for name in names), *rows])))
    return 0


@group.command("show")
@takes(ShowOptions)
def show_message(options: ShowOptions) -> int:
    """Print the fields of NAME at VERSION, or of all its versions.

    NAME is an API (Produce, or its key 0: request and response) or any message (ProduceRequest, TopicRecord,
    OffsetCommitValue). With --bytes NAME and VERSION say how to read them; of an API the request, unless --response.
    """
    try:
        specs = show.find(options.name)
        specs = [spec for spec in specs if options.kind is None or spec.name.endswith(options.kind)]
        if not specs:
            raise ProtocolError(f"{options.name} is not a {options.kind}".lower())
        if options.source is None:
            return _show_fields(specs, options.version, options.as_json)
        if options.version is None:
            raise click.UsageError("--bytes needs a VERSION")
        return _show_bytes(specs[0], options.version, read_bytes(options.source), options.frame, options.as_json)
    except ProtocolError as error:
        raise click.UsageError(str(error)) from None


def _show_fields(specs: list[MessageSpec], version: int | None, as_json: bool) -> int:
    """Prints the messages as trees, or as one JSON object by message name."""
    if as_json:
        fields = {spec.name: [asdict(line) for line in show.lines(spec, version)] for spec in specs}
        click.echo(json.dumps(fields, indent=2))
        return 0
    for position, spec in enumerate(specs):
        rows = show.tree(spec, version)
        if position:
            click.echo()
        click.echo(show.heading(spec) + ("" if version is None else f"; version {version}:"))
        click.echo("\n".join(f"  {row}" for row in rows or ["(no fields)"]))
    return 0


def _show_bytes(spec: MessageSpec, version: int, data: bytes, frame: bool, as_json: bool) -> int:
    """Prints the fields found in the bytes; exit code 1 when they are not (only) that message."""
    found = dissect.dissect(spec, version, data, frame=frame)
    if as_json:
        secrets = show.secret_paths(found.notes)
        fields = [
            {"path": n.path, "type": n.kind, "start": n.start, "end": n.end, "value": show.value_of(n, secrets)}
            for n in found.notes
        ]
        click.echo(
            json.dumps({"message": spec.name, "version": version, "fields": fields, "fault": found.fault}, indent=2)
        )
    else:
        click.echo("\n".join(show.field_lines(found.notes, data)))
        if found.fault:
            click.echo(f"odradek protocol: {found.fault}", err=True)
    return 1 if found.fault else 0


def read_bytes(source: str) -> bytes:
    """The bytes that ``--bytes`` names: a file, ``-`` for standard input, or hexadecimal digits.

    What a file or standard input holds may be hexadecimal digits too. Raises ProtocolError for what is neither.
    """
    if source == "-":
        return _plain(sys.stdin.buffer.read())
    path = Path(source)
    try:
        if path.is_file():
            return _plain(path.read_bytes())
    except OSError as error:  # a long row of digits can't be a file name
        if error.errno != errno.ENAMETOOLONG:
            raise ProtocolError(f"{source} cannot be read: {error.strerror}") from None
    digits = _digits(source)
    if digits is None:
        raise ProtocolError(f"'{source}' is neither a file nor hexadecimal digits")
    return digits


def _plain(content: bytes) -> bytes:
    """Content as it is, unless it is text of hexadecimal digits only."""
    digits = _digits(content.decode("ascii")) if content.isascii() else None
    return content if digits is None else digits


def _digits(text: str) -> bytes | None:
    """The bytes that hexadecimal digits mean (spaces, line ends and colons between them), or None."""
    try:
        return bytes.fromhex(text.replace(":", " "))
    except ValueError:
        return None
