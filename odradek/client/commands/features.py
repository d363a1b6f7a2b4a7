"""``odradek features``: what ``kafka-features.sh`` does, with its flags and output.

Source: ``FeatureCommand``; KIP-584, KIP-1022.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import click

from .abbreviations import AbbreviatedGroup
from .node_options import action_options, ask, keep_options, node_options
from .running import CommandError, key_values, main

if TYPE_CHECKING:
    from ..admin.features import FeatureAdmin, FeatureDescription

HIGHEST_LEVEL = 32767


@click.group(
    cls=AbbreviatedGroup,
    help="Show or change the levels of features.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@node_options
@click.pass_context
def command(context: click.Context, /, **given: str | None) -> None:
    """Keeps the options that were given before the action's name. The action reads them."""
    keep_options(context, **given)


def _feature_admin() -> type[FeatureAdmin]:
    from ..admin.features import FeatureAdmin

    return FeatureAdmin


unsafe_option = click.option("--unsafe", is_flag=True, help="Change the level even if metadata may be lost.")
dry_run_option = click.option("--dry-run", is_flag=True, help="Only check the change, do not make it.")
metadata_option = click.option("--metadata", metavar="RELEASE", help="Deprecated: the release of metadata.version.")
release_option = click.option(
    "--release-version", metavar="RELEASE", help="Set the feature levels of a release; `version-mapping` shows them."
)
feature_option = click.option(
    "--feature", "features", multiple=True, metavar="NAME=LEVEL", help="A feature and its level; may be repeated."
)


@command.command(help="Show the features: supported and finalized levels.")
@click.option("--node-id", type=click.IntRange(min=0), metavar="N", help="The node to ask; default: any.")
@action_options
def describe(node_id: int | None, **common: Any) -> int:
    """``describe``: prints the supported and the finalised levels. Returns the exit code."""

    async def work(admin: FeatureAdmin) -> int:
        print_features(await admin.describe_features(node_id))
        return 0

    return ask(common, _feature_admin, work)


def level_text(feature: str, level: int) -> str:
    """The text of a level: the number, or for metadata.version the name of its release."""
    from odradek.protocol.apis.metadata_versions import LEVELS, METADATA_VERSION, level_name

    if feature != METADATA_VERSION:
        return str(level)
    return level_name(level) if level in LEVELS.values() else f"UNKNOWN {level}"


def print_features(described: FeatureDescription) -> None:
    """Prints a line for each supported feature."""
    epoch = "-" if described.epoch < 0 else str(described.epoch)
    for name, (low, high) in sorted(described.supported.items()):
        low_text, high_text = level_text(name, low), level_text(name, high)
        finalized = level_text(name, described.finalized.get(name, 0))
        click.echo(
            f"Feature: {name:<40}  SupportedMinVersion: {low_text:<15}  SupportedMaxVersion: {high_text:<15}  "
            f"FinalizedVersionLevel: {finalized:<15}  Epoch: {epoch}"
        )


class FeatureChange(NamedTuple):
    """An action on levels. ``dry_run``: only check it. ``unsafe``: do it even if metadata may be lost."""

    action: str
    dry_run: bool
    unsafe: bool = False


@command.command(help="Raise the levels of features.")
@metadata_option
@release_option
@feature_option
@dry_run_option
@action_options
def upgrade(
    metadata: str | None, release_version: str | None, features: tuple[str, ...], dry_run: bool, **common: Any
) -> int:
    """``upgrade``: raises levels of features. Returns the exit code."""
    wanted = FeatureChange("upgrade", dry_run)
    if release_version is not None:
        return change(wanted, levels_of_release(release_version, metadata, features, leaves_out_zero=True), common)
    return change(wanted, wanted_levels(metadata, features), common)


@command.command(help="Lower the levels of features.")
@metadata_option
@release_option
@feature_option
@unsafe_option
@dry_run_option
@action_options
def downgrade(
    metadata: str | None,
    release_version: str | None,
    features: tuple[str, ...],
    unsafe: bool,
    dry_run: bool,
    **common: Any,
) -> int:
    """``downgrade``: lowers levels of features. Returns the exit code."""
    wanted = FeatureChange("downgrade", dry_run, unsafe)
    if release_version is not None:
        return change(wanted, levels_of_release(release_version, metadata, features, leaves_out_zero=False), common)
    return change(wanted, wanted_levels(metadata, features), common)


@command.command(help="Set the levels of features to 0.")
@click.option("--feature", "features", multiple=True, metavar="NAME", help="A feature; may be repeated.")
@unsafe_option
@dry_run_option
@action_options
def disable(features: tuple[str, ...], unsafe: bool, dry_run: bool, **common: Any) -> int:
    """``disable``: sets the levels of features to 0. Returns the exit code."""
    _refuse_repeated(list(features))
    return change(FeatureChange("disable", dry_run, unsafe), dict.fromkeys(features, 0), common)


def _refuse_repeated(names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise CommandError(f"Feature {name} was specified more than once.")


def wanted_levels(metadata: str | None, features: tuple[str, ...]) -> dict[str, int]:
    """Feature -> level, from ``--metadata`` and ``--feature``. Raises CommandError."""
    from odradek.protocol.apis.metadata_versions import METADATA_VERSION

    pairs = []
    if metadata is not None:
        click.echo(" `metadata` flag is deprecated and may be removed in a future release.")
        pairs.append((METADATA_VERSION, _release_level(metadata)))
    pairs += [named_level(text) for text in features]
    _refuse_repeated([name for name, _ in pairs])
    return dict(pairs)


def named_level(text: str) -> tuple[str, int]:
    """The name and the level of ``NAME=LEVEL``. Raises CommandError."""
    [(name, level)] = key_values((text,), "--feature").items()
    try:
        number = int(level)
    except ValueError:
        number = HIGHEST_LEVEL + 1
    if not -HIGHEST_LEVEL - 1 <= number <= HIGHEST_LEVEL:
        raise CommandError(f"Can't parse feature=level string {text}: unable to parse {level.strip()} as a short.")
    return name, number


def levels_of_release(
    release: str, metadata: str | None, features: tuple[str, ...], *, leaves_out_zero: bool
) -> dict[str, int]:
    """Feature -> level of a release. ``leaves_out_zero``: without features at level 0. Raises CommandError."""
    from odradek.protocol.apis.metadata_versions import METADATA_VERSION, default_levels

    if metadata is not None or features:
        raise CommandError("Can not specify `release-version` with other feature flags.")
    level = _release_level(release)
    levels = {name: one for name, one in default_levels(level).items() if one or not leaves_out_zero}
    return {METADATA_VERSION: level, **levels}


def _release_level(release: str) -> int:
    from odradek.protocol.apis.metadata_versions import release_level

    try:
        return release_level(release)
    except ValueError as error:
        raise CommandError(str(error)) from None


@command.command("version-mapping", help="Show the levels of all features in a release.")
@click.option("-r", "--release-version", metavar="RELEASE", help="The release, such as 4.0-IV3; default: the latest.")
def version_mapping(release_version: str | None) -> int:
    """``version-mapping``, without a connection."""
    from odradek.protocol.apis.metadata_versions import LEVELS, METADATA_VERSION, default_levels

    release = release_version or list(LEVELS)[-1]
    level = _release_level(release)
    click.echo(f"{METADATA_VERSION}={level} ({release})")
    for name, one in default_levels(level).items():
        click.echo(f"{name}={one}")
    return 0


@command.command("feature-dependencies", help="Show which levels of other features a level needs.")
@click.option(
    "-f",
    "--feature",
    "features",
    multiple=True,
    required=True,
    metavar="NAME=LEVEL",
    help="A feature and its level; may be repeated.",
)
def feature_dependencies(features: tuple[str, ...]) -> int:
    """``feature-dependencies``, without a connection."""
    for text in features:
        for line in dependency_lines(*named_level(text)):
            click.echo(line)
    return 0


def dependency_lines(name: str, level: int) -> list[str]:
    """The lines for one level: the features that it requires. Raises CommandError if the level does not exist."""
    from odradek.protocol.apis.metadata_versions import FEATURE_LEVELS, LEVELS, METADATA_VERSION

    if name == METADATA_VERSION:
        if level not in LEVELS.values():
            raise CommandError(f"Unknown {name} {level}")
        return [f"{name}={level} ({level_text(name, level)}) has no dependencies."]
    if name not in FEATURE_LEVELS:
        raise CommandError(f"Unknown feature: {name}")
    levels = FEATURE_LEVELS[name]
    if not 0 <= level < len(levels):
        raise CommandError(f"No feature:{name} with feature level {level}")
    if not levels[level].needs:
        return [f"{name}={level} has no dependencies."]
    needed = [
        f"    {one}={low}" + (f" ({level_text(one, low)})" if one == METADATA_VERSION else "")
        for one, low in levels[level].needs.items()
    ]
    return [f"{name}={level} requires:", *needed]


def change(change: FeatureChange, levels: dict[str, int], common: dict[str, Any]) -> int:
    """Sends the new levels and prints the outcome of each feature."""
    if not levels:
        raise CommandError(f"You must specify at least one feature to {change.action}")

    async def work(admin: FeatureAdmin) -> int:
        return await change_levels(admin, change, levels)

    return ask(common, _feature_admin, work)


async def change_levels(admin: FeatureAdmin, change: FeatureChange, levels: dict[str, int]) -> int:
    """Changes the levels and prints each outcome. Raises CommandError if any change failed."""
    from odradek.protocol.errors import ErrorCode

    from ..admin.features import FeatureResult, UpgradeType
    from ..errors import UnsupportedVersionError
    from .java_errors import java_message

    kind = UpgradeType.UNSAFE_DOWNGRADE if change.unsafe else UpgradeType.SAFE_DOWNGRADE
    if change.action == "upgrade":
        kind = UpgradeType.UPGRADE
    try:
        results = await admin.update_features(levels, kind, validate_only=change.dry_run)
    except UnsupportedVersionError:
        refused = FeatureResult(ErrorCode.UNSUPPORTED_VERSION, "The node does not support UPDATE_FEATURES")
        results = dict.fromkeys(levels, refused)
    for name, (code, message) in sorted(results.items()):
        to_level = "" if change.action == "disable" else f" to {levels[name]}"
        if code:
            not_done = "Can not" if change.dry_run else "Could not"
            click.echo(f"{not_done} {change.action} {name}{to_level}. {java_message(code, message)}")
        else:
            # Kafka's tool prints "upgraded", "downgraded" and "disabled": each is the action with a d.
            click.echo(f"{name} {'can be' if change.dry_run else 'was'} {change.action}d{to_level}.")
    failed = sum(result.error_code != 0 for result in results.values())
    if failed:
        raise CommandError(f"{failed} out of {len(levels)} operation(s) failed.")
    return 0


def features(arguments: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek features``, returns the exit code."""
    return main(command, "features", arguments)


def version_mapping_command(arguments: list[str]) -> int:
    """Entry point of ``odradek storage version-mapping``, as in Kafka's storage tool. Returns the exit code."""
    return main(command, "storage", ["version-mapping", *arguments])


def feature_dependencies_command(arguments: list[str]) -> int:
    """Entry point of ``odradek storage feature-dependencies``. Returns the exit code."""
    return main(command, "storage", ["feature-dependencies", *arguments])
