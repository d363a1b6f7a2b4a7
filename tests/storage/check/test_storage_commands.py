"""`odradek storage` finds its commands and lists them."""

from importlib import import_module

import pytest

from odradek.storage.subcommands import COMMANDS, storage


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_there_and_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    module, _, function = COMMANDS[name][0].partition(":")
    assert callable(getattr(import_module(module), function))
    assert storage([name, "--help"]) == 0
    assert f"odradek storage {name}" in capsys.readouterr().out


def test_others_are_refused_with_the_one_that_is_meant(capsys: pytest.CaptureFixture[str]) -> None:
    assert storage(["chek"]) == 2
    assert "Did you mean 'check'?" in capsys.readouterr().err
    assert storage([]) == 2
    assert storage(["--help"]) == 0
