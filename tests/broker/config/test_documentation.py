"""docs/configuration.md, conf/server.properties and the table of effective keys match the code."""

import re
from pathlib import Path

from odradek.broker.config.definition import server_keys
from odradek.broker.config.document import with_table
from odradek.broker.config.effective import EFFECTIVE
from odradek.broker.config.server_config import ServerConfig

ROOT = Path(__file__).parents[3]
READ = re.compile(r'(?:get_(?:int|float|boolean|string|list)\(\s*|config\[)"([a-z0-9.]+)"')


def test_the_page_is_current() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text()
    assert with_table(page) == page, "run `make config-docs`"


def test_every_effective_key_is_kafkas() -> None:
    assert sorted(EFFECTIVE.keys() - set(server_keys())) == []


def test_every_key_that_the_broker_reads_is_listed_as_effective() -> None:
    read = {
        (key, path.relative_to(ROOT).as_posix())
        for path in (ROOT / "broker").rglob("*.py")
        if path.parent.name != "config"
        for key in READ.findall(path.read_text())
        if key in server_keys()
    }
    assert not {(key, path) for key, path in read if key not in EFFECTIVE}, "add it to broker/config/effective.py"


def test_the_example_file_is_good_and_all_of_it_has_effect() -> None:
    config = ServerConfig.load((ROOT / "conf" / "server.properties").read_text())
    assert [str(listener) for listener in config.listeners] == ["PLAINTEXT://127.0.0.1:9092"]
    assert config.log_dirs == ("./data",)
    assert config.keys_without_effect() == []
