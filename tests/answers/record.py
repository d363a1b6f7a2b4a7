"""Asks a real Kafka the questions of the fixed scenes and writes the corpus: ``make record`` (10 minutes; Java, Maven).

    python -m answers.record test_traps_fetch test_traps_topics    # some of the files

Each file of scenes gets its own Kafka, so that a file can be replayed alone on an empty broker. Without names of files
it also records what Kafka's tools print for the tables of ``tests/client/commands``.
"""

import os
import subprocess
import sys

from answers.corpus import FILES, read
from answers.recording import DIRECTORY

TESTS = FILES.parents[1]
RECORDED = {
    "test_authorization": "allowed_and_denied or random_acls",
    "test_group_scripts": "test_a_group_is_asked",
    "test_random_questions": "same_random",
    "test_transaction_scripts": "test_a_transaction_is_asked or two_phase",
    "test_traps_broker_configs": "not advertised",
    "test_traps_connection": "not client_id and not pipelined and not refused_frame",  # frames with the cluster's id
    "test_traps_consumer_groups": "not comes_of_itself",  # it takes the time that a broker needs
    "test_traps_delegation_tokens": "",
    "test_traps_fetch": "",
    "test_traps_groups": "",
    "test_traps_log_dirs": "describe_log_dirs",  # the others name paths,
    "test_traps_not_served": "without_an_authorizer",
    "test_traps_offsets": "",
    "test_traps_partitions": "",
    "test_traps_produce": "not too-old and not too-far",  # they are times of that day
    "test_traps_reassignments": "",
    "test_traps_retention": "cleaner_threads or local_retention",
    "test_traps_timestamps": "not which_times and not log_append_time",  # the same
    "test_traps_topics": "",
    "test_traps_transactions": "not random",
    "test_traps_versions": "unknown_version",  # the others need ids that a broker chooses
}
"""The files of ``tests/parity`` whose scenes are recorded, and which of the scenes (``pytest -k``)."""


COMMANDS = "tests/client/commands/test_compared_lines.py"


def main(names: list[str]) -> int:
    """Records the named files, or everything. Returns 1 if a scene fails on Kafka."""
    failed = False
    for name in names or RECORDED:
        failed |= run(f"tests/parity/{name}.py", "-m", "not long", "-k", RECORDED[name])
        print(f"{name}: {len(read(FILES / f'{name}.jsonl').steps)} steps", flush=True)
    if not names:
        failed |= run(COMMANDS, "-m", "java")
    return int(failed)


def run(*arguments: str) -> bool:
    """Runs tests that record. Returns True if one fails."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    ended = subprocess.run(command, cwd=TESTS.parent, env=os.environ | {DIRECTORY: str(FILES)}, check=False)
    return ended.returncode != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
