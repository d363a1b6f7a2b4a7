"""The manifest of a crate for which few tests are compiled."""

from .module_environments import with_dependencies_of_tests

MANIFEST = """\
[package]
name = "modules"

[[example]]
name = "big"
required-features = ["big"]

[dependencies.core]
version = "1"

[dev-dependencies.rdkafka]
version = "0.38.0"

[dev-dependencies.reqwest]
version = "0.12.5"
features = [
    "blocking",
    "json",
]

[features]
kafka = []
"""


def test_only_needed_dependencies_of_the_tests_are_kept() -> None:
    kept = with_dependencies_of_tests(MANIFEST, ["rdkafka"])
    assert [line for line in kept.splitlines() if line.startswith("[")] == [
        "[package]",
        "[dependencies.core]",
        "[dev-dependencies.rdkafka]",
        "[features]",
    ]
    assert "json" not in kept
