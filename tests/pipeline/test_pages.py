"""The commands and programs of the pages about jobs over log directories, run on other directories."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from s3fs import S3FileSystem

from support.brokers.our_broker import OurBroker
from support.debian import program_or_skip
from support.pages import INDENTED, Block, blocks, only_block
from support.pipeline.spark_cluster import FAST_START
from support.shell import Shell

from .object_storage import upload

PLACE = "/var/lib/kafka/data"
"""A log directory on most pages."""
S3_PLACE = "s3://backups/broker-1/data"
SESSION = f"""
from pyspark.sql import SparkSession

spark = (
    SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
    .config("spark.sql.shuffle.partitions", "2").config("spark.driver.extraJavaOptions", "{FAST_START}").getOrCreate()
)
"""
"""What the pages take for granted: a session."""
RECORDS = 20
IN_THE_FIRST_BATCH = 40
"""The position of a byte under its CRC."""

pytestmark = pytest.mark.ci


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log directory of a stopped broker with the topics and the group of the pages."""
    directory = tmp_path_factory.mktemp("broker")
    keys = {"offsets.topic.num.partitions": "1", "group.initial.rebalance.delay.ms": "0"}
    with OurBroker(directory, keys) as broker:

        def odradek(arguments: str, typed: str = "") -> str:
            return Shell(directory).run(f"odradek {arguments} --bootstrap-server {broker.bootstrap_servers}", typed)

        odradek("topics --create --topic orders")
        odradek("topics --create --topic users --partitions 4 --config cleanup.policy=compact")
        for topic in ("orders", "users"):
            records = "".join(f"{number % 3}:{number}\n" for number in range(RECORDS))
            odradek(f"produce --topic {topic} --property parse.key=true --property key.separator=:", records)
        odradek("consume --topic orders --group billing --from-beginning --max-messages 10")
        # On the page about operating a broker: it needs a broker that runs.
        (where,) = only_block("docs/operating.md", "Where partitions go", INDENTED).commands()
        assert "orders-0" in odradek(where.removeprefix("odradek "))
        assert broker.stop() == 0
    return broker.log_dir


@pytest.fixture
def directory(stopped: Path, tmp_path: Path) -> Path:
    """A copy of the directory, which a test may change."""
    return Path(shutil.copytree(stopped, tmp_path / "kafka"))


def jobs(block: Block) -> list[str]:
    """The commands of a block without those of pip, which ``tests/pages/test_install.py`` runs."""
    return [command for command in block.commands() if not command.startswith("pip install")]


def run(command: str, here: Path, *places: tuple[str, Path | str]) -> str:
    """The output of a command in a directory. ``places``: the paths of the page, and what they are here."""
    for place, own in places:
        assert place in command
        command = command.replace(place, str(own))
    return Shell(here).run(command)


def test_the_page_about_audits(directory: Path, tmp_path: Path, s3_server: None) -> None:
    local, remote = blocks("docs/audit.md", "Audit")
    (audit,) = jobs(local)
    assert "billing" in run(audit, tmp_path, (PLACE, directory))
    assert (tmp_path / "audit-of-today" / "index.html").is_file()
    shutil.rmtree(tmp_path / "audit-of-today")
    S3FileSystem().mkdir("backups")
    upload(directory, S3_PLACE)
    (audit,) = jobs(remote)
    assert "billing" in run(audit, tmp_path)
    check_the_tables(tmp_path, directory)
    (export,) = jobs(only_block("docs/export.md", "Object storage", INDENTED))
    run(export, tmp_path, ("/srv/export", tmp_path / "export"))
    assert list((tmp_path / "export").glob("topic=orders/date=*/*.parquet"))


def test_an_audit_every_hour(directory: Path, tmp_path: Path) -> None:
    """The command of the page, and the lines for cron and systemd, which have the same arguments."""
    (command,) = jobs(only_block("docs/audit.md", "Audits every hour", INDENTED))
    examples = "".join(block.text for block in blocks("docs/audit.md", "Audits every hour"))
    assert examples.count(f"{command} --output /var/lib/odradek/audit") == 2
    places = ((PLACE, directory), ("/var/lib/odradek", tmp_path))
    for _ in range(2):
        said = run(command, tmp_path, *places)
    assert "billing" in said
    assert (tmp_path / "audit-state" / "run.json").is_file()


def check_the_tables(here: Path, directory: Path) -> None:
    """The commands about the tables; the first needs JSON lines and a finding."""
    program_or_skip("jq", "jq")
    log = next((directory / "orders-0").glob("*.log"))
    data = bytearray(log.read_bytes())
    data[IN_THE_FIRST_BATCH] ^= 1
    log.write_bytes(data)
    Shell(here).start(f"odradek audit {directory} --output OUT --format jsonl").wait()
    jq, duckdb = only_block("docs/audit.md", "The tables", "console").commands()
    assert re.search(r"^orders\t0\t\S+\t", run(jq, here), re.MULTILINE)
    shutil.rmtree(here / "OUT")
    Shell(here).start(f"odradek audit {directory} --output OUT").wait()
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--target", str(here / "duckdb"), "duckdb-cli"], check=True)
    assert "orders" in run(f"PATH={here}/duckdb/bin:$PATH PYTHONPATH={here}/duckdb {duckdb}", here)


def test_an_audit_of_several_directories(directory: Path, tmp_path: Path) -> None:
    (audit,) = only_block("docs/audit.md", "Several directories", INDENTED).commands()
    for number in (1, 2, 3):
        shutil.copytree(directory, tmp_path / f"broker-{number}" / "data")
    run(audit, tmp_path, ("/mnt/", f"{tmp_path}/"))
    assert (tmp_path / "audit-of-today" / "index.html").is_file()


def test_the_pages_about_compaction_export_and_import(directory: Path, tmp_path: Path) -> None:
    for command in only_block("docs/compaction.md", "odradek compact", INDENTED).commands():
        assert "users" in run(command, tmp_path, (PLACE, directory))
    (export,) = only_block("docs/export.md", "Export to Parquet", INDENTED).commands()
    run(export, tmp_path, (PLACE, directory), ("/srv/export", tmp_path / "export"))
    (parquet,) = (tmp_path / "export").glob("topic=orders/date=*/*.parquet")
    shutil.copy(parquet, tmp_path / "orders.parquet")
    [(restore, printed)] = only_block("docs/import.md", blocks("docs/import.md")[0].heading, "console").dialogue()
    said = run(restore, tmp_path, ("--partitions", "--offsets new --partitions"))
    assert f"orders: 4 partitions, {RECORDS} records" in said
    assert printed[1] in said
    assert printed[2].replace("/srv/data", str(tmp_path / "data")) in said


def as_expression(block: Block) -> str:
    return block.text.replace("\\\n", " ").strip()


def day_of(export: Path) -> str:
    """The day of the exported records."""
    (folder,) = export.glob("topic=orders/date=*")
    return folder.name.removeprefix("date=")


@pytest.mark.nightly
def test_the_programs_for_spark(stopped: Path, tmp_path: Path) -> None:
    """All in one session, in a checkout."""
    of_spark = [block for block in blocks("docs/spark.md") if block.language == "python"]
    _, register, *_ = of_spark
    assert "register" in register.text
    of_spark.remove(register)
    readme = [block for block in blocks("README.md", "Jobs over log directories") if block.language == "python"]
    lag = only_block("docs/audit.md", "The records themselves", "python")
    exported = only_block("docs/export.md", "What is written", "python")
    (export,) = only_block("docs/export.md", "Export to Parquet", INDENTED).commands()
    run(export, tmp_path, (PLACE, stopped), ("/srv/export", tmp_path / "export"))
    program = SESSION + "\n".join(block.text for block in (register, *of_spark, *readme))
    program += "query.processAllAvailable()\nquery.stop()\nprint(spark.table('events').count(), 'events')\n"
    program += f"print({as_expression(lag)}.count(), 'commits')\nprint({as_expression(exported)}.count(), 'exported')\n"
    places = {
        PLACE: stopped,
        "./data": stopped,
        "(DIR)": f"({str(stopped)!r})",
        "/data/checkpoint": tmp_path / "checkpoint",
    }
    places |= {"/srv/export": tmp_path / "export", "2026-11-21": day_of(tmp_path / "export")}
    for place, own in places.items():
        assert place in program
        program = program.replace(place, str(own))
    (tmp_path / "program.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(re.findall(rf"\|orders\| +0\| +{RECORDS}\|", done.stdout)) == 2, done.stdout
    assert re.search(r"^\d+ events\n[1-9]\d* commits\n20 exported$", done.stdout, re.MULTILINE), done.stdout
