"""Asks Kafka's own classes about configuration: one JVM for a list of questions (tests/java/ConfigOracle.java)."""

import json
import subprocess
from typing import Any

from support.kafka.java import java_arguments, java_class, java_or_skip

Json = dict[str, Any]


def ask(questions: list[Json]) -> list[Json]:
    """The answers of Kafka's classes, in order. Skips the test without Java."""
    java_or_skip()
    lines = "".join(json.dumps(question) + "\n" for question in questions)
    command = [*java_arguments(), java_class("ConfigOracle")]
    result = subprocess.run(command, input=lines, capture_output=True, text=True, check=True, timeout=300)
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(answers) == len(questions)
    return answers
