# SPDX-License-Identifier: Apache-2.0
"""What `fit` and `inspect` print of a model, whose `table_` holds what they know of its data."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from tadaboost.report import by_round, importances, percent
from tadaboost.treeview import export_text, view

_MOST_LISTED = 20


def tell(
    model: Any, y: NDArray[np.generic], rows: NDArray[np.float64] | None, places: tuple[Path, Path]
) -> None:
    """Print what `fit` did; `places` are those of the model and the report."""
    table, console = model.table_, _console()
    used = f"{len(table['columns'])} column{'s' * (len(table['columns']) != 1)} used"
    console.print(Text(f"{table['file']}: {table['rows']} rows, {used}, {model.n_iter_} rounds"))
    if table["estimate"]:
        weights = np.ones(len(y)) if rows is None else rows
        baseline = 1 - max(weights[y == label].sum() for label in model.classes_) / weights.sum()
        _show_estimate(console, table["estimate"])
        console.print(f"Always the more frequent class: error {percent(float(baseline))}.")
    console.print(Text(f"Model   {places[0]}\nReport  {places[1]}"))


def _show_estimate(console: Console, estimate: dict[str, Any]) -> None:
    console.print(f"{estimate['folds']}-fold cross-validation, ± one standard error:")
    grid = Grid.grid(padding=(0, 2))
    error, loss, auc = estimate["error"], estimate["log_loss"], estimate["auc"]
    grid.add_row("  error", f"{percent(error['mean'])} ± {percent(error['se'])}")
    grid.add_row("  log loss", f"{loss['mean']:.4f} ± {loss['se']:.4f}")
    grid.add_row("  AUC", f"{auc['mean']:.4f} ± {auc['se']:.4f}")
    console.print(grid)


def show(model: Any) -> None:
    """Print what a model is."""
    table, console = model.table_, _console()
    rule = f" {table['target']['positive']}" if table["target"]["positive"] else ""
    console.print(
        Text(f"Fitted to {table['file']}: {table['rows']} rows, target {table['target']['name']}{rule}")
    )
    console.print(Text(f"Classes: {', '.join(map(str, model.classes_.tolist()))}"))
    if table["weight"]:
        console.print(Text(f"Weights: {table['weight']}"))
    console.print(Text(f"Rounds: {model.n_iter_} ({model.stop_reason_})"))
    if table["estimate"]:
        _show_estimate(console, table["estimate"])
    kinds = {rule["name"]: rule["kind"] for rule in table["columns"]}
    ranked = importances(model)
    more = f", the first {_MOST_LISTED} of {len(ranked)}" if len(ranked) > _MOST_LISTED else ""
    _print_grid(
        console,
        f"Columns by importance{more}",
        ("column", "read as", "importance"),
        [(name, kinds.get(name, ""), f"{value:.3f}") for name, value in ranked[:_MOST_LISTED]],
    )
    if table["left_out"]:
        pairs = [(out["name"], out["reason"]) for out in table["left_out"]]
        _print_grid(console, "Columns left out", ("column", "why"), pairs)
    picked = np.unique(np.linspace(0, len(model.rounds_) - 1, 8).round().astype(int))
    names, by_name = ("train_error", "loss", "codensity_min", "codensity_max"), by_round(model)
    rows = [(str(i + 1), *(f"{by_name[name][i]:.4g}" for name in names)) for i in picked]
    hardest = ", each number that of the hardest class" if len(model.classes_) > 2 else ""
    _print_grid(console, f"Some rounds{hardest}", ("round", *names), rows)
    parameters = [(name, repr(value)) for name, value in sorted(model.get_params().items())]
    _print_grid(console, "Settings", ("parameter", "value"), parameters)


def show_tree(model: Any, index: int) -> None:
    """Print the trees of a round: one, or one a class."""
    if index >= model.n_iter_:
        raise click.UsageError(f"--tree {index}: the trees are 0 to {model.n_iter_ - 1}")
    days = " in days since 1970-01-01"
    names = [rule["name"] + days * (rule["kind"] == "date") for rule in model.table_["columns"]]
    for label in model.classes_.tolist() if len(model.classes_) > 2 else [model.classes_[-1]]:
        seen = view(model, index, label, names)
        of = f"Tree {index} (round {index + 1} of {model.n_iter_})"
        click.echo(f"{of}, coefficient {seen.alpha:.6g}, values above 0 speak for {label}:")
        click.echo(export_text(model, index, label=label, feature_names=names), nl=False)


def _print_grid(console: Console, title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    grid = Grid(
        title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0)
    )
    for name in head:
        grid.add_column(name, overflow="fold", header_style="dim")
    for row in rows:
        grid.add_row(*(Text(cell) for cell in row))  # Text: brackets in a name are no markup
    console.print()
    console.print(grid)


def described(model: Any) -> dict[str, Any]:
    """Everything that `inspect --json` says."""
    rounds = {name: model.rounds_[name].tolist() for name in model.rounds_.dtype.names}
    return {
        **model.table_,
        "classes": model.classes_.tolist(),
        "n_iter": model.n_iter_,
        "stop_reason": model.stop_reason_,
        "importances": dict(importances(model)),
        "settings": model.get_params(),
        "rounds": rounds,
    }


def echo_json(value: object) -> None:
    """Print a value as JSON."""
    click.echo(json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False))


def _plain(value: Any) -> Any:
    """Make a value that JSON can hold: NaN and infinity, which it lacks, become null."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else repr(value)


def _console() -> Console:
    # As wide as needed where no terminal sets a limit: programs read lines, not pages.
    return (
        Console(highlight=False, soft_wrap=True)
        if sys.stdout.isatty()
        else Console(width=10_000, highlight=False)
    )
