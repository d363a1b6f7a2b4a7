"""Log directories of two brokers of one cluster, an audit of which has rows in every table."""

from pathlib import Path

from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import MetaProperties, write_meta_properties
from support.data.log_directories import flip_a_byte
from support.pipeline.audited_directory import AuditedDirectory

from ..groups_directory import GroupsDirectory
from .group_injections import a_consumer_that_stops
from .share_injections import share_group, state

CLUSTER = "AAAAAAAAAAAAAAAAAAAAAA"


def belongs_to(root: Path, cluster: str, broker: int) -> Path:
    """Makes the directory that of a broker."""
    write_meta_properties(Files(), root, MetaProperties(cluster, broker, bytes(range(broker, broker + 16))))
    return root


def two_brokers(directory: Path) -> list[Path]:
    """The directory of broker 0 has all kinds of groups, that of broker 1 has a damaged log."""
    groups = GroupsDirectory()
    a_consumer_that_stops(groups)
    share_group(groups, "share")
    state(groups, "share", 5)
    first = groups.write(directory / "first")
    second = AuditedDirectory(directory / "second").root
    flip_a_byte(second)
    return [belongs_to(first, CLUSTER, 0), belongs_to(second, CLUSTER, 1)]
