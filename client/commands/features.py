"""``odradek features``: what ``kafka-features.sh`` does, with its flags and output.

``describe``, ``upgrade``, ``downgrade`` and ``disable`` are served. Source: ``FeatureCommand``; KIP-584, KIP-1022.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import click

from .node_options import action_options, ask, keep_options, node_options
from .running import CommandError, key_values, main

if TYPE_CHECKING:
    from ..admin.features import FeatureAdmin, FeatureDescription

HIGHEST_LEVEL = 32767


@click.group(
    help="Show or change the levels of features.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@node_options
@click.pass_context
def command(context: click.Context, /, **given: str | None) -> None:
    """Keeps the addresses for the action."""
    keep_options(context, **given)


def _feature_admin() -> type[FeatureAdmin]:
    from ..admin.features import FeatureAdmin

    return FeatureAdmin


unsafe_option = click.option("--unsafe", is_flag=True, help="Even if metadata may be lost for ever.")
dry_run_option = click.option("--dry-run", is_flag=True, help="Only check; change nothing.")
metadata_option = click.option("--metadata", metavar="RELEASE", help="Deprecated: metadata.version as a release.")
feature_option = click.option("--feature", "features", multiple=True, metavar="NAME=LEVEL", help="May be repeated.")


@command.command(help="Show the features: supported and finalized levels.")
@click.option("--node-id", type=click.IntRange(min=0), metavar="N", help="The node that is asked; default: any.")
@action_options
def describe(node_id: int | None, **common: Any) -> int:
    """``describe``."""

    async def work(admin: FeatureAdmin) -> int:
        print_features(await admin.describe_features(node_id))
        return 0

    return ask(common, _feature_admin, work)


def level_text(feature: str, level: int) -> str:
    """A level; for metadata.version the name of its release."""
    from ...protocol.metadata_versions import LEVELS, METADATA_VERSION, level_name

    if feature != METADATA_VERSION:
        return str(level)
    return level_name(level) if level in LEVELS.values() else f"UNKNOWN {level}"


def print_features(described: FeatureDescription) -> None:
    """A line for each supported feature."""
    epoch = "-" if described.epoch < 0 else str(described.epoch)
    for name, (low, high) in sorted(described.supported.items()):
        low_text, high_text = level_text(name, low), level_text(name, high)
        finalized = level_text(name, described.finalized.get(name, 0))
        click.echo(
            f"Feature: {name:<40}  SupportedMinVersion: {low_text:<15}  SupportedMaxVersion: {high_text:<15}  "
            f"FinalizedVersionLevel: {finalized:<15}  Epoch: {epoch}"
        )


class FeatureChange(NamedTuple):
    """An action on levels: its name, and whether only to check it, or to do it although metadata may be lost."""

    action: str
    dry_run: bool
    unsafe: bool = False


@command.command(help="Raise the levels of features.")
@metadata_option
@feature_option
@dry_run_option
@action_options
def upgrade(metadata: str | None, features: tuple[str, ...], dry_run: bool, **common: Any) -> int:
    """``upgrade``."""
    return change(FeatureChange("upgrade", dry_run), wanted_levels(metadata, features), common)


@command.command(help="Lower the levels of features.")
@metadata_option
@feature_option
@unsafe_option
@dry_run_option
@action_options
def downgrade(metadata: str | None, features: tuple[str, ...], unsafe: bool, dry_run: bool, **common: Any) -> int:
    """``downgrade``."""
    return change(FeatureChange("downgrade", dry_run, unsafe), wanted_levels(metadata, features), common)


@command.command(help="Set the levels of features to 0.")
@click.option("--feature", "features", multiple=True, metavar="NAME", help="May be repeated.")
@unsafe_option
@dry_run_option
@action_options
def disable(features: tuple[str, ...], unsafe: bool, dry_run: bool, **common: Any) -> int:
    """``disable``."""
    _refuse_repeated(list(features))
    return change(FeatureChange("disable", dry_run, unsafe), dict.fromkeys(features, 0), common)


def _refuse_repeated(names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise CommandError(f"Feature {name} was specified more than once.")


def wanted_levels(metadata: str | None, features: tuple[str, ...]) -> dict[str, int]:
    """Feature -> level. Raises CommandError."""
    from ...protocol.metadata_versions import METADATA_VERSION, release_level

    pairs = []
    if metadata is not None:
        click.echo(" `metadata` flag is deprecated and may be removed in a future release.")
        try:
            pairs.append((METADATA_VERSION, release_level(metadata)))
        except ValueError as error:
            raise CommandError(str(error)) from None
    for text in features:
        [(name, level)] = key_values((text,), "--feature").items()
        try:
            number = int(level)
        except ValueError:
            number = HIGHEST_LEVEL + 1
        if not -HIGHEST_LEVEL - 1 <= number <= HIGHEST_LEVEL:
            raise CommandError(f"Can't parse feature=level string {text}: unable to parse {level.strip()} as a short.")
        pairs.append((name, number))
    _refuse_repeated([name for name, _ in pairs])
    return dict(pairs)


def change(change: FeatureChange, levels: dict[str, int], common: dict[str, Any]) -> int:
    """Sends the new levels and prints the outcome of each feature."""
    if not levels:
        raise CommandError(f"You must specify at least one feature to {change.action}")

    async def work(admin: FeatureAdmin) -> int:
        return await change_levels(admin, change, levels)

    return ask(common, _feature_admin, work)


async def change_levels(admin: FeatureAdmin, change: FeatureChange, levels: dict[str, int]) -> int:
    """Raises CommandError if a feature was refused, or if the cluster cannot change features."""
    from ...protocol.errors import ErrorCode
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
