"""Scripts of events for the group coordinator, with the expected results.

A script is a text of blocks: commands, a line ``----``, their results, an empty line. Commands:

    a: JoinGroup 9 group_id=g session_timeout_ms=10000 protocols=range:x   client a sends JoinGroup version 9
    wait 3000                  virtual milliseconds pass
    fail KAFKA_STORAGE_ERROR   the next append fails
    hold / release             appends are not durable until released
    crash / crash loading      the broker starts again from the log; "loading": before it has read it
    config group_max_size=2    starts again from an empty log with other settings
    state g                    shows the group
    timers                     shows the time until the next timer

Values: ``protocols=name:metadata,…``, ``assignments=member:bytes,…``, ``members=member,/instance,member/instance``,
``topics=t:0@5;u:0@7/metadata`` (commits), ``topics=t:0,1`` (other requests; ``*``: null), ``groups=g=t:0,1+h=*``
(OffsetFetch from version 8 on). ``#t`` instead of a topic's name is its id.
Results: ``a < …`` an answer with the fields that do not have their default, ``log: …`` an appended record.
"""

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from odradek.broker.groups.config import GroupCoordinatorConfig
from odradek.broker.groups.records import CoordinatorRecord
from odradek.protocol.apis.api_keys import ApiKey, api
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.group_records import GroupMetadataKey, OffsetCommitKey
from odradek.protocol.messages.groups import OffsetFetchRequest
from odradek.protocol.messages.structure import Structure
from odradek.protocol.records.record import iterate_records
from support.groups.harness import START_MS, Harness

REWRITE_VARIABLE = "ODRADEK_REWRITE_SCRIPTS"
_API = re.compile(r"(\w+): (\w+) (\d+) ?(.*)")


def run_script(path: Path, player: "ScriptPlayer | None" = None) -> tuple[str, str]:
    """Runs a script; returns its text, and the text with the actual results. The variable makes it rewrite the file.

    ``player``: of classic groups by default.
    """
    text = path.read_text()
    result = play_script(text, player or ScriptPlayer())
    if os.environ.get(REWRITE_VARIABLE):
        path.write_text(result)
        return result, result
    return text, result


def play_script(text: str, player: "ScriptPlayer") -> str:
    """Plays all commands; returns the script with the actual results."""
    blocks = []
    for block in text.rstrip("\n").split("\n\n"):
        commands = block.partition("\n----")[0]
        lines: list[str] = []
        for line in commands.splitlines():
            if line and not line.startswith("#"):
                lines += player.play(line)
        is_comment = all(line.startswith("#") for line in commands.splitlines())
        blocks.append(commands if is_comment else "\n".join([commands, "----", *lines]))
    return "\n\n".join(blocks) + "\n"


class ScriptPlayer:
    """Carries out the commands of a script."""

    def __init__(self) -> None:
        self._config = GroupCoordinatorConfig(offsets_topic_num_partitions=1)
        self._start()

    def _start(self) -> None:
        self._harness = Harness(self._config)
        self._lines: list[str] = []
        self._harness.log.on_append = lambda records: self._lines.extend(map(self.describe_record, records))

    def stored_records(self) -> list[tuple[bytes, bytes | None]]:
        """The keys and values in the log."""
        return [
            (record.key or b"", record.value)
            for batch in self._harness.log.batches
            for record in iterate_records(batch)
        ]

    def send(self, harness: Harness, client: str, api_key: ApiKey, version: int, request: Any) -> None:
        """Sends a request. Subclasses may extend this."""
        harness.send(client, api_key, version, request)

    def take_answer(self, client: str, response: Any) -> None:
        """Gets each answer. Subclasses may extend this."""

    def request(self, api_key: ApiKey, fields: str) -> Any:
        """Returns the request whose fields a command has. Subclasses may read further fields."""
        return _request(api_key, fields)

    def describe_record(self, record: CoordinatorRecord) -> str:
        """Returns an appended record as a line. Subclasses describe other records."""
        return describe_record(record)

    def describe_group(self, harness: Harness, group_id: str) -> str:
        """Returns the state of a group as a line. Subclasses describe other groups."""
        return _describe_group(harness, group_id)

    def play_other(self, harness: Harness, word: str, rest: str) -> None:
        """Plays a command that only some scripts have. Subclasses know some."""
        raise ValueError(f"unknown command {word} {rest}")

    def play(self, line: str) -> list[str]:
        """Plays one command; returns its results."""
        self._lines = []
        harness = self._harness
        word, _, rest = line.partition(" ")
        if match := _API.fullmatch(line):
            client, name, version, fields = match.groups()
            api_key = _api_key(name)
            self.send(harness, client, api_key, int(version), self.request(api_key, fields))
        elif word == "wait":
            harness.timers.advance(int(rest))
        elif word == "fail":
            harness.log.fail_next = ErrorCode[rest]
        elif word == "hold":
            harness.log.held = True
        elif word == "release":
            harness.log.release()
        elif word == "crash":
            harness.start(in_turns=rest == "loading")
        elif word == "config":
            settings = dict(setting.split("=") for setting in rest.split())
            numbers: dict[str, Any] = {name: int(value) for name, value in settings.items()}
            self._config = replace(self._config, **numbers)
            self._start()
        elif word == "state":
            self._lines.append(self.describe_group(harness, rest))
        elif word == "timers":
            next_ms = harness.timers.next_ms()
            self._lines.append("none" if next_ms is None else f"next in {next_ms - harness.timers.now_ms} ms")
        else:
            self.play_other(harness, word, rest)
        lines = self._lines
        while self._harness.answers:
            client, response = self._harness.answers.pop(0)
            self.take_answer(client, response)
            lines.append(f"{client} < {describe(response) or 'ok'}")
        return lines


def _api_key(name: str) -> ApiKey:
    return ApiKey[re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper()]


def _describe_group(harness: Harness, group_id: str) -> str:
    group = harness.core.groups.classic.get(group_id)
    if group is None:
        return "none"
    members = ",".join(
        f"{member.member_id}{'*' if group.is_leader(member.member_id) else ''}={member.assignment.decode()}"
        for member in group.members.values()
    )
    pending = f" pending={','.join(sorted(group.pending_join_members))}" if group.pending_join_members else ""
    return f"{group.state} generation={group.generation_id} protocol={group.protocol_name} members={members}{pending}"


# --- messages as text


def describe(structure: Structure) -> str:
    """The fields that do not have their default, in one line."""
    default = type(structure)()
    parts = []
    for name in structure.__slots__:
        value = getattr(structure, name)
        if value == getattr(default, name) or name == "client_host":
            continue
        if name == "error_code":
            value = ErrorCode(value).name
        parts.append(f"{name}={_describe_value(value)}")
    return " ".join(parts)


def _describe_value(value: Any) -> str:
    if isinstance(value, Structure):
        return f"({describe(value)})"
    if isinstance(value, list):
        return f"[{' '.join(_describe_value(item) for item in value)}]"
    if isinstance(value, bytes):
        return value.decode("ascii", "backslashreplace")
    return str(value) if value != "" else "''"


def describe_record(record: CoordinatorRecord) -> str:
    """A record in one line; times from the start of the script."""
    key = record.key
    if isinstance(key, GroupMetadataKey):
        name = f"group {key.group}"
    else:
        assert isinstance(key, OffsetCommitKey), "scripts are of groups of the classic protocol"
        name = f"offset {key.group} {key.topic}-{key.partition}"
    if record.value is None:
        return f"log: {name} tombstone"
    for field in ("current_state_timestamp", "commit_timestamp", "expire_timestamp"):
        if getattr(record.value, field, -1) != -1:
            setattr(record.value, field, getattr(record.value, field) - START_MS)
    return f"log: {name} v{record.value_version} {describe(record.value)}"


# --- text as messages


def _request(api_key: ApiKey, fields: str) -> Any:
    request_class = api(api_key).request_class()
    request = request_class()
    for setting in fields.split():
        name, _, text = setting.partition("=")
        setattr(request, name, _value(request, name, text))
    return request


def _value(request: Any, name: str, text: str) -> Any:
    cls = type(request)
    match name:
        case "protocols":
            return [
                cls.JoinGroupRequestProtocol(
                    protocol, metadata.encode("latin-1").decode("unicode_escape").encode("latin-1")
                )
                for protocol, _, metadata in (item.partition(":") for item in text.split(",") if item)
            ]
        case "assignments":
            pairs = (item.partition(":") for item in text.split(",") if item)
            return [cls.SyncGroupRequestAssignment(member, assignment.encode()) for member, _, assignment in pairs]
        case "members":
            pairs = (item.partition("/") for item in text.split(",") if item)
            return [cls.MemberIdentity(member, instance or None) for member, _, instance in pairs]
        case "groups" if cls is OffsetFetchRequest:
            return [_fetch_group(item) for item in text.split("+")]
        case "groups" | "groups_names" | "states_filter" | "types_filter" | "coordinator_keys":
            return text.split(",")
        case "topics":
            return _topics(cls, text)
        case "group_instance_id":
            return text
    if isinstance(getattr(request, name), bool):
        return text == "true"
    return int(text) if isinstance(getattr(request, name), int) else text


def _fetch_group(text: str) -> OffsetFetchRequest.OffsetFetchRequestGroup:
    group_id, _, topics = text.partition("=")
    if topics == "*":
        return OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group_id, topics=None)
    wanted = []
    for item in topics.split(";"):
        name, _, indexes = item.partition(":")
        name, topic_id = _name_or_id(name)
        wanted.append(
            OffsetFetchRequest.OffsetFetchRequestTopics(name, topic_id, [int(index) for index in indexes.split(",")])
        )
    return OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group_id, topics=wanted)


def _name_or_id(text: str) -> tuple[str, bytes]:
    """``t`` is a name, ``#t`` the id of 16 t."""
    return ("", text[1:].encode() * 16) if text.startswith("#") else (text, bytes(16))


def _topics(cls: Any, text: str) -> Any:
    if text == "*":
        return None
    topics = []
    for item in filter(None, text.split(";")):
        name, _, partitions = item.partition(":")
        if cls.__name__ == "OffsetFetchRequest":
            indexes = [int(index) for index in partitions.split(",")]
            topics.append(cls.OffsetFetchRequestTopic(name, indexes))
        elif cls.__name__ == "OffsetDeleteRequest":
            indexed = [cls.OffsetDeleteRequestPartition(int(index)) for index in partitions.split(",")]
            topics.append(cls.OffsetDeleteRequestTopic(name, indexed))
        else:
            commits = []
            for commit in partitions.split(","):
                position, _, metadata = commit.partition("/")
                index, _, offset = position.partition("@")
                commits.append(cls.OffsetCommitRequestPartition(int(index), int(offset), committed_metadata=metadata))
            topics.append(cls.OffsetCommitRequestTopic(*_name_or_id(name), commits))
    return topics
