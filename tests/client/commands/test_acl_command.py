"""``odradek acls`` with our broker, which enforces the created ACLs."""

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.client.admin import (
    AclBinding,
    AclEntry,
    AclOperation,
    AclPermission,
    AclResourceType,
    Admin,
    PatternType,
    ResourcePattern,
)
from odradek.client.errors import AdminError
from odradek.protocol.errors import ErrorCode
from support.brokers.our_broker import OurBroker

from ..command_shell import Shell

KEYS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
ANY_ENTRY = AclEntry()
ANONYMOUS = "User:ANONYMOUS"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    with OurBroker(tmp_path_factory.mktemp("acls"), KEYS) as running:
        yield running


@pytest.fixture
def shell(broker: OurBroker, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> Shell:
    return Shell(broker.bootstrap_servers, capfdbinary, tmp_path)


def test_acls_are_added_listed_and_removed(shell: Shell, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    add = ("acls", "--add", "--topic", name, "--operation", "Read", "--allow-principal", ANONYMOUS)
    pattern = f"ResourcePattern(resourceType=TOPIC, name={name}, patternType=LITERAL)"
    entry = f"(principal={ANONYMOUS}, host=*, operation=READ, permissionType=ALLOW)"
    assert shell.out(*add) == f"Adding ACLs for resource `{pattern}`: \n \t{entry}\n\n"
    assert shell.out(*add) == f"Acl (pattern={pattern}, entry={entry}) already exists.\n"
    listed = f"Current ACLs for resource `{pattern}`:\n\t{entry}\n\n"
    assert shell.out("acls", "--list", "--topic", name) == listed
    assert shell.out("acls", "--list", "--topic", name, "--principal", "User:bob", "--principal", ANONYMOUS) == (
        f"ACLs for principal `User:bob`\nACLs for principal `{ANONYMOUS}`\n{listed}"
    )
    code, _, err = shell.run("produce", "--topic", name, "--tombstone", "--key", "k")
    assert code == 1
    assert "Topic authorization failed" in err, "an ACL to read does not allow to write"
    remove = ("acls", "--remove", "--topic", name)
    with monkeypatch.context() as typed:
        typed.setattr("sys.stdin", io.StringIO(""))
        code, _, err = shell.run(*remove)
        assert (code, err.endswith("no answer on standard input; use --force to remove without asking\n")) == (1, True)
        typed.setattr("sys.stdin", io.StringIO("n\ny\n"))
        shell.out(*remove)
        assert shell.out("acls", "--list", "--topic", name) == listed, "the answer was no"
        shell.out(*remove)
    assert shell.out("acls", "--list", "--topic", name) == ""
    shell.out("produce", "--topic", name, "--tombstone", "--key", "k")


def test_json_has_what_was_added_and_removed(shell: Shell, name: str) -> None:
    options = ("--group", name, "--resource-pattern-type", "prefixed", "--deny-principal", "User:*")
    [added] = shell.json("acls", "--add", *options, "--deny-host", "10.0.0.1")
    assert added == {
        "resourceType": "GROUP", "name": name, "patternType": "PREFIXED", "principal": "User:*", "host": "10.0.0.1",
        "operation": "ALL", "permissionType": "DENY",
    }  # fmt: skip
    affects = ("--group", f"{name}-longer", "--resource-pattern-type", "MATCH")
    assert shell.json("acls", "--list", *affects) == [added]
    assert shell.json("acls", "--remove", "--force", *affects) == [added]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--list", "--producer"], 'Option "[list]" can\'t be used with option "[producer]"'),
        (["--add", "--list"], "Command must include exactly one action: --list, --add, --remove"),
        (["--add", "--topic", "t", "--allow-principal", "alice"], "expected a string in format principalType"),
    ],
)
def test_wrong_usage(shell: Shell, arguments: list[str], message: str) -> None:
    code, _, err = shell.run("acls", *arguments)
    assert code == 2
    assert message in err


def test_without_an_authorizer_there_are_no_acls(
    odradek: str, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    code, _, err = Shell(odradek, capfdbinary, tmp_path).run("acls", "--list")
    assert code == 1
    assert "SECURITY_DISABLED" in err


async def test_the_admin_client_creates_finds_and_deletes(broker: OurBroker, name: str) -> None:
    def binding(operation: AclOperation, principal: str = "User:alice") -> AclBinding:
        pattern = ResourcePattern(AclResourceType.TOPIC, name, PatternType.LITERAL)
        return AclBinding(pattern, AclEntry(principal, "*", operation, AclPermission.ALLOW))

    def of_topic(entry: AclEntry = ANY_ENTRY) -> AclBinding:
        return AclBinding(ResourcePattern(AclResourceType.TOPIC, name, PatternType.ANY), entry)

    async with Admin(broker.bootstrap_servers) as admin:
        both = [binding(AclOperation.READ), binding(AclOperation.WRITE, "User:bob")]
        await admin.create_acls(both)
        assert sorted(await admin.describe_acls(of_topic())) == sorted(both)
        assert await admin.describe_acls(of_topic(AclEntry("User:bob"))) == both[1:]
        with pytest.raises(AdminError) as caught:
            await admin.create_acls([binding(AclOperation.READ, "nobody"), binding(AclOperation.ALTER)])
        assert [error.error_code for error in caught.value.errors.values()] == [ErrorCode.INVALID_REQUEST]
        assert len(caught.value.results) == 1
        assert len(await admin.delete_acls([of_topic()])) == 3
        assert await admin.describe_acls(of_topic()) == []


def test_the_document_is_json(shell: Shell) -> None:
    assert json.loads(shell.out("acls", "--list", "--json", "--topic", "none")) == []
