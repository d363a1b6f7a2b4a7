"""``odradek topics apply`` and ``export``, on our broker and on a real Kafka."""

from pathlib import Path

from ...command_shell import Shell

FILE = """
defaults: {{partitions: 2, replicas: 1}}
topics:
  - name: {name}-orders
    config: {{retention.ms: 1d}}
  - name: {name}-users
    partitions: 1
    config: {{cleanup.policy: compact}}
"""


def written(directory: Path, text: str, **names: str) -> str:
    """The path of a file with this text."""
    path = directory / "topics.yaml"
    path.write_text(text.format(**names))
    return str(path)


def applied(shell: Shell, file: str, *flags: str) -> tuple[int, str, str]:
    """Exit code, output and errors of ``topics apply``."""
    return shell.run_words("topics", "apply", file, *flags)


def test_topics_become_what_the_file_says(shell: Shell, tmp_path: Path, name: str) -> None:
    file = written(tmp_path, FILE, name=name)
    plan = (
        f"+ {name}-orders\n    partitions: 2\n    replicas: 1\n    retention.ms: 86400000\n"
        f"+ {name}-users\n    partitions: 1\n    replicas: 1\n    cleanup.policy: compact\n"
    )
    assert applied(shell, file, "--plan") == (2, plan, "")
    assert not [line for line in shell.out("topics", "--list").splitlines() if line.startswith(name)]
    assert applied(shell, file) == (0, plan, "")
    shell.until(lambda: applied(shell, file, "--plan") == (0, "all topics are as the file says\n", ""))
    file = written(tmp_path, FILE.replace("partitions: 2", "partitions: 4").replace("1d", "2d"), name=name)
    change = f"~ {name}-orders\n    partitions: 2 -> 4\n    retention.ms: 86400000 -> 172800000\n"
    assert applied(shell, file) == (0, change, "")
    shell.until(lambda: applied(shell, file, "--plan")[0] == 0)
    _, exported, _ = shell.run_words("topics", "export", "--topic", f"{name}.*")
    assert exported == (
        f"topics:\n- name: {name}-orders\n  partitions: 4\n  replicas: 1\n  config:\n    retention.ms: '172800000'\n"
        f"- name: {name}-users\n  partitions: 1\n  replicas: 1\n  config:\n    cleanup.policy: compact\n"
    )
    assert applied(shell, written(tmp_path, exported)) == (0, "all topics are as the file says\n", "")


def test_nothing_is_changed_if_a_line_is_refused(shell: Shell, tmp_path: Path, name: str) -> None:
    applied(shell, written(tmp_path, FILE, name=name))
    shell.until(lambda: f"{name}-users" in shell.out("topics", "--list"))
    text = "topics:\n- {{name: {name}-users, state: absent}}\n- name: {name}-new\n"
    file = written(tmp_path, text, name=name)
    code, out, err = applied(shell, file)
    assert code == 1
    assert f"! {name}-users\n    line 2: would be deleted; allow it: --allow-delete\n" in out
    assert err == "odradek topics apply: nothing was changed, because of the lines with '!'\n"
    assert f"{name}-new" not in shell.out("topics", "--list")
    assert applied(shell, file, "--allow-delete")[0] == 0
    shell.until(lambda: applied(shell, file, "--plan")[0] == 0)
    assert f"{name}-users" not in shell.out("topics", "--list")


def test_nothing_is_changed_if_a_broker_would_refuse_a_part(shell: Shell, tmp_path: Path, name: str) -> None:
    shell.create(f"{name}-old")
    text = "topics:\n- name: {name}-new\n- name: {name}-old\n  config: {{retention.ms: soon}}\n"
    code, _, err = applied(shell, written(tmp_path, text, name=name))
    assert code == 1
    assert "retention.ms" in err
    assert f"{name}-new" not in shell.out("topics", "--list")


def test_a_mistake_in_the_file(shell: Shell, tmp_path: Path) -> None:
    file = written(tmp_path, "topics:\n- nam: orders\n")
    mistake = "line 2: 'nam' is unknown; it can be name, state, partitions, replicas, config"
    assert applied(shell, file) == (1, "", f"odradek topics apply: {file}: {mistake}\n")
