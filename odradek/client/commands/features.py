"""``odradek features``: what ``kafka-features.sh`` does, with its flags and output.

Source: ``FeatureCommand``; KIP-584, KIP-1022.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from odradek.protocol.common.command_options import flag, included, option, repeated, takes
from odradek.protocol.common.lazy_imports import lazy_imports

from .abbreviations import AbbreviatedGroup
from .node_options import NodeOptions, ask, keep_options
from .running import CommandError, key_values, main, timeout_option

with lazy_imports:
    from odradek.protocol import errors as protocol_errors
    from odradek.protocol.apis import metadata_versions

    from .. import errors as client_errors
    from ..admin import features as admin_features
    from . import java_errors

if TYPE_CHECKING:
    from ..admin.features import FeatureAdmin, FeatureDescription

HIGHEST_LEVEL = 32767


@click.group(
    cls=AbbreviatedGroup,
    help="Show or change the levels of features.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes(NodeOptions)
def command(options: NodeOptions) -> None:
    """Keeps the options that were given before the action's name. The action reads them."""
    keep_options(options)


def _feature_admin() -> type[admin_features.FeatureAdmin]:
    return admin_features.FeatureAdmin


def unsafe_option() -> Any:
    """``--unsafe``, as a field of an action's options."""
    return flag("--unsafe", help="Change the level even if metadata may be lost.")


def dry_run_option() -> Any:
    """``--dry-run``, as a field of an action's options."""
    return flag("--dry-run", help="Only check the change, do not make it.")


@dataclass(frozen=True, kw_only=True)
class DescribeFeaturesOptions:
    """The arguments of ``describe``."""

    node_id: int | None = option(
        "--node-id", type=click.IntRange(min=0), metavar="N", help="The node to ask; default: any."
    )
    nodes: NodeOptions = included(NodeOptions)
    timeout_ms: int = timeout_option()


@command.command(help="Show the features: supported and finalized levels.")
@takes(DescribeFeaturesOptions)
def describe(options: DescribeFeaturesOptions) -> int:
    """``describe``: prints the supported and the finalised levels. Returns the exit code."""

    async def work(admin: FeatureAdmin) -> int:
        print_features(await admin.describe_features(options.node_id))
        return 0

    return ask(options.nodes, options.timeout_ms, _feature_admin, work)


def level_text(feature: str, level: int) -> str:
    """The text of a level: the number, or for metadata.version the name of its release."""
    if feature != metadata_versions.METADATA_VERSION:
        return str(level)
    return metadata_versions.level_name(level) if level in metadata_versions.LEVELS.values() else f"UNKNOWN {level}"


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


@dataclass(frozen=True, kw_only=True)
class LevelOptions:
    """The levels to raise or to lower features to."""

    metadata: str | None = option("--metadata", metavar="RELEASE", help="Deprecated: the release of metadata.version.")
    release_version: str | None = option(
        "--release-version",
        metavar="RELEASE",
        help="Set the feature levels of a release; `version-mapping` shows them.",
    )
    features: tuple[str, ...] = repeated(
        "--feature", metavar="NAME=LEVEL", help="A feature and its level; may be repeated."
    )


@dataclass(frozen=True, kw_only=True)
class UpgradeOptions:
    """The arguments of ``upgrade``."""

    levels: LevelOptions = included(LevelOptions)
    dry_run: bool = dry_run_option()
    nodes: NodeOptions = included(NodeOptions)
    timeout_ms: int = timeout_option()


@command.command(help="Raise the levels of features.")
@takes(UpgradeOptions)
def upgrade(options: UpgradeOptions) -> int:
    """``upgrade``: raises levels of features. Returns the exit code."""
    levels = wanted_levels(options.levels, leaves_out_zero=True)
    return change(FeatureChange("upgrade", options.dry_run), levels, options.nodes, options.timeout_ms)


@dataclass(frozen=True, kw_only=True)
class DowngradeOptions:
    """The arguments of ``downgrade``."""

    levels: LevelOptions = included(LevelOptions)
    unsafe: bool = unsafe_option()
    dry_run: bool = dry_run_option()
    nodes: NodeOptions = included(NodeOptions)
    timeout_ms: int = timeout_option()


@command.command(help="Lower the levels of features.")
@takes(DowngradeOptions)
def downgrade(options: DowngradeOptions) -> int:
    """``downgrade``: lowers levels of features. Returns the exit code."""
    levels = wanted_levels(options.levels, leaves_out_zero=False)
    feature_change = FeatureChange("downgrade", options.dry_run, options.unsafe)
    return change(feature_change, levels, options.nodes, options.timeout_ms)


@dataclass(frozen=True, kw_only=True)
class DisableOptions:
    """The arguments of ``disable``."""

    features: tuple[str, ...] = repeated("--feature", metavar="NAME", help="A feature; may be repeated.")
    unsafe: bool = unsafe_option()
    dry_run: bool = dry_run_option()
    nodes: NodeOptions = included(NodeOptions)
    timeout_ms: int = timeout_option()


@command.command(help="Set the levels of features to 0.")
@takes(DisableOptions)
def disable(options: DisableOptions) -> int:
    """``disable``: sets the levels of features to 0. Returns the exit code."""
    _refuse_repeated(list(options.features))
    feature_change = FeatureChange("disable", options.dry_run, options.unsafe)
    return change(feature_change, dict.fromkeys(options.features, 0), options.nodes, options.timeout_ms)


def _refuse_repeated(names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise CommandError(f"Feature {name} was specified more than once.")


def wanted_levels(options: LevelOptions, *, leaves_out_zero: bool) -> dict[str, int]:
    """Feature -> level, from the release, or from ``--metadata`` and ``--feature``. Raises CommandError.

    ``leaves_out_zero``: without the features of the release that are at level 0.
    """
    if options.release_version is not None:
        return levels_of_release(options.release_version, options, leaves_out_zero=leaves_out_zero)
    pairs = []
    if options.metadata is not None:
        click.echo(" `metadata` flag is deprecated and may be removed in a future release.")
        pairs.append((metadata_versions.METADATA_VERSION, _release_level(options.metadata)))
    pairs += [named_level(text) for text in options.features]
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


def levels_of_release(release: str, options: LevelOptions, *, leaves_out_zero: bool) -> dict[str, int]:
    """Feature -> level of a release. ``leaves_out_zero``: without features at level 0. Raises CommandError."""
    if options.metadata is not None or options.features:
        raise CommandError("Can not specify `release-version` with other feature flags.")
    level = _release_level(release)
    levels = {
        name: feature_level
        for name, feature_level in metadata_versions.default_levels(level).items()
        if feature_level or not leaves_out_zero
    }
    return {metadata_versions.METADATA_VERSION: level, **levels}


def _release_level(release: str) -> int:
    try:
        return metadata_versions.release_level(release)
    except ValueError as error:
        raise CommandError(str(error)) from None


@dataclass(frozen=True, kw_only=True)
class VersionMappingOptions:
    """The arguments of ``version-mapping``."""

    release_version: str | None = option(
        "-r", "--release-version", metavar="RELEASE", help="The release, such as 4.0-IV3; default: the latest."
    )


@command.command("version-mapping", help="Show the levels of all features in a release.")
@takes(VersionMappingOptions)
def version_mapping(options: VersionMappingOptions) -> int:
    """``version-mapping``, without a connection."""
    release = options.release_version or list(metadata_versions.LEVELS)[-1]
    level = _release_level(release)
    click.echo(f"{metadata_versions.METADATA_VERSION}={level} ({release})")
    for name, feature_level in metadata_versions.default_levels(level).items():
        click.echo(f"{name}={feature_level}")
    return 0


@dataclass(frozen=True, kw_only=True)
class FeatureDependenciesOptions:
    """The arguments of ``feature-dependencies``."""

    features: tuple[str, ...] = repeated(
        "-f", "--feature", required=True, metavar="NAME=LEVEL", help="A feature and its level; may be repeated."
    )


@command.command("feature-dependencies", help="Show which levels of other features a level needs.")
@takes(FeatureDependenciesOptions)
def feature_dependencies(options: FeatureDependenciesOptions) -> int:
    """``feature-dependencies``, without a connection."""
    for text in options.features:
        for line in dependency_lines(*named_level(text)):
            click.echo(line)
    return 0


def dependency_lines(name: str, level: int) -> list[str]:
    """The lines for one level: the features that it requires. Raises CommandError if the level does not exist."""
    if name == metadata_versions.METADATA_VERSION:
        if level not in metadata_versions.LEVELS.values():
            raise CommandError(f"Unknown {name} {level}")
        return [f"{name}={level} ({level_text(name, level)}) has no dependencies."]
    if name not in metadata_versions.FEATURE_LEVELS:
        raise CommandError(f"Unknown feature: {name}")
    levels = metadata_versions.FEATURE_LEVELS[name]
    if not 0 <= level < len(levels):
        raise CommandError(f"No feature:{name} with feature level {level}")
    if not levels[level].needs:
        return [f"{name}={level} has no dependencies."]
    needed = [
        f"    {feature}={low}"
        + (f" ({level_text(feature, low)})" if feature == metadata_versions.METADATA_VERSION else "")
        for feature, low in levels[level].needs.items()
    ]
    return [f"{name}={level} requires:", *needed]


def change(change: FeatureChange, levels: dict[str, int], nodes: NodeOptions, timeout_ms: int) -> int:
    """Sends the new levels and prints the outcome of each feature."""
    if not levels:
        raise CommandError(f"You must specify at least one feature to {change.action}")

    async def work(admin: FeatureAdmin) -> int:
        return await change_levels(admin, change, levels)

    return ask(nodes, timeout_ms, _feature_admin, work)


async def change_levels(admin: FeatureAdmin, change: FeatureChange, levels: dict[str, int]) -> int:
    """Changes the levels and prints each outcome. Raises CommandError if any change failed."""
    kind = admin_features.UpgradeType.UNSAFE_DOWNGRADE if change.unsafe else admin_features.UpgradeType.SAFE_DOWNGRADE
    if change.action == "upgrade":
        kind = admin_features.UpgradeType.UPGRADE
    try:
        results = await admin.update_features(levels, kind, validate_only=change.dry_run)
    except client_errors.UnsupportedVersionError:
        refused = admin_features.FeatureResult(
            protocol_errors.ErrorCode.UNSUPPORTED_VERSION, "The node does not support UPDATE_FEATURES"
        )
        results = dict.fromkeys(levels, refused)
    for name, (code, message) in sorted(results.items()):
        to_level = "" if change.action == "disable" else f" to {levels[name]}"
        if code:
            not_done = "Can not" if change.dry_run else "Could not"
            click.echo(f"{not_done} {change.action} {name}{to_level}. {java_errors.java_message(code, message)}")
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
