# SPDX-License-Identifier: Apache-2.0
"""The command `tadaboost` itself: `main`, a group whose commands come in when the first is asked for.

They import scikit-learn, which takes seconds; `--version` and a misspelt option need not wait for that.
"""

from __future__ import annotations

import click

import tadaboost


class _Group(click.Group):
    """A group that imports its commands, and the slow libraries they need, when one is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the commands, for the help page."""
        _load()
        return super().list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Find a command by its name."""
        _load()
        return super().get_command(ctx, cmd_name)


def _load() -> None:
    """Import the modules whose commands add themselves to `main`."""
    from tadaboost import commands, study_commands  # noqa: F401  # they add theirs to `main`


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(tadaboost.__version__, prog_name="tadaboost")
def main() -> None:
    """Boosted trees with a temperature: fit a model to a CSV or Parquet file, and predict with it."""
