# SPDX-License-Identifier: Apache-2.0
"""The commands `study` and `reproduce`: a grid of cells, then the files of results in one folder."""

from __future__ import annotations

import datetime
import functools
import importlib.util
import io
import json
import math
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import joblib
import numpy as np
import polars as pl
import scipy
import sklearn
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import tadaboost
from tadaboost import reproduce as paper
from tadaboost import study as protocol
from tadaboost import studyfigures, studyreport
from tadaboost.aside import remove_leftovers, write_aside
from tadaboost.commands import named, one_line_errors
from tadaboost.group import main
from tadaboost.reader import DataError, read_table, shown
from tadaboost.significance import PValues
from tadaboost.study import Cell, Domain

__all__ = ["main", "reproduce", "study"]

_LEAVES = ("exact", "theorem_a", "canonical")
_STORE = "store"


@dataclass
class Plan:
    """What a command is going to do, and how it went."""

    command: str
    output: Path
    domains: Mapping[str, Domain]
    cells: list[Cell]
    clips: Callable[[Cell], Sequence[bool]]
    seed: int
    seeds: int = 1
    jobs: int = 1
    tables: Sequence[str] = ()
    faults: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)


def _options(output: str) -> Callable[[Any], Any]:
    options = [
        click.option(
            "--seed",
            default=0,
            type=click.IntRange(0, 2**32 - 1),
            show_default=True,
            help="Of the folds and the noise.",
        ),
        click.option("--jobs", type=click.IntRange(min=1), help="Processes; as a rule one a CPU."),
        click.option(
            "--output",
            default=output,
            metavar="DIR",
            show_default=True,
            callback=named,
            help="Where the results go.",
        ),
    ]

    def add(command: Any) -> Any:
        """Put the options on a command, in the order that its help page lists them."""
        for option in reversed(options):
            command = option(command)
        return command

    return add


@main.command()
@click.argument("data", nargs=-1, required=True)
@click.option("--target", required=True, metavar="COL", help="The column to predict, of every file.")
@click.option(
    "--positive",
    metavar="RULE",
    help="Which values are the positive class: VALUE, '>=6' (also >, <=, <), or in:a,b.",
)
@click.option(
    "--ts",
    default="0,0.2,0.4,0.6,0.8,0.9,1,1.1",
    show_default=True,
    help="Temperatures, each below 2; 1 is AdaBoost, to which the others are compared.",
)
@click.option(
    "--noise",
    default="0,0.1",
    show_default=True,
    help="Shares of training labels to flip, each at least 0 and below 0.5.",
)
@click.option("--folds", default=10, type=click.IntRange(min=2), show_default=True)
@click.option("--trees", default=20, type=click.IntRange(min=1), show_default=True, help="Rounds, J.")
@click.option("--max-leaf-nodes", default=8, type=click.IntRange(min=2), show_default=True)
@click.option("--leaves", default="theorem_a", show_default=True, help=f"Leaf values: {', '.join(_LEAVES)}.")
@_options("study")
def study(
    data: tuple[str, ...],
    target: str,
    positive: str | None,
    ts: str,
    noise: str,
    folds: int,
    trees: int,
    max_leaf_nodes: int,
    leaves: str,
    seed: int,
    jobs: int | None,
    output: str,
) -> None:
    """Run the paper's protocol on DATA: errors for each t.

    Errors are cross-validated; they and the weights come round by round. DATA are CSV (also .gz) or Parquet
    files with the same target column; each is a domain. A run that was cut short goes on where it was when
    it is called again.
    """
    temperatures = _numbers("--ts", ts, "a temperature is a number below 2", lambda t: t < 2)
    noises = _numbers(
        "--noise", noise, "noise is a number of at least 0 and below 0.5", lambda eta: 0 <= eta < 0.5
    )
    variants = _names("--leaves", leaves, _LEAVES)
    names = [Path(Path(path).name.removesuffix(".gz")).stem for path in data]
    for name in names:
        if names.count(name) > 1:
            raise click.UsageError(
                f"two files are called {shown(name)}; rename one, as results go by that name"
            )
    with one_line_errors():
        domains = {}
        for name, path in zip(names, data, strict=True):
            domains[name] = protocol.make_domain(name, read_table(path), target, positive)
            protocol.check_folds(domains[name], folds)
            _remark(domains[name].remarks)
        cells = [
            Cell("study", name, trees, max_leaf_nodes, leaf, t, eta, folds, seed)
            for name in names
            for leaf in variants
            for eta in noises
            for t in temperatures
        ]
        if 1.0 not in temperatures:
            click.echo("--ts has no 1, so there is nothing to test the others against", err=True)
        plan = Plan("study", Path(output), domains, cells, lambda cell: (False, True), seed, jobs=_jobs(jobs))
        _run(plan)


@main.command()
@click.option(
    "--data",
    metavar="DIR",
    help="Folder with the ten domains, NAME.csv or NAME.csv.gz; without it they come from OpenML.",
)
@click.option("--domains", default=",".join(paper.SOURCES), help="Some of the ten; as a rule all.")
@click.option("--tables", default="1,2,A4-A16", show_default=True, help="Of the paper; 1 is its Figure 1.")
@click.option(
    "--leaves",
    default="theorem_a,canonical",
    show_default=True,
    help="theorem_a is the paper's text, canonical what the authors' program does.",
)
@click.option(
    "--seeds",
    default=1,
    type=click.IntRange(min=1),
    show_default=True,
    help="Repeat Table 2 under so many seeds, to tell how far its counts go with folds and noise.",
)
@_options("reproduction")
def reproduce(
    data: str | None,
    domains: str,
    tables: str,
    leaves: str,
    seeds: int,
    seed: int,
    jobs: int | None,
    output: str,
) -> None:
    """Run the paper's experiments again, beside the paper's counts.

    Tables 2 and A4 to A16, and Figure 1. A run that was cut short goes on where it was when it is called
    again.
    """
    wanted = _names("--domains", domains, tuple(paper.SOURCES))
    variants = _names("--leaves", leaves, _LEAVES)
    try:
        chosen = paper.read_tables(tables)
    except ValueError as error:
        raise click.UsageError(f"--tables: {error}") from None
    folder = None if data is None else Path(data)
    if folder is not None and not folder.is_dir():
        raise click.ClickException(f"{folder}: there is no such folder")
    needed = {cell.domain for cell in paper.grid(chosen, wanted, variants, seed)}
    if not needed:
        raise click.UsageError(
            f"none of the domains {', '.join(wanted)} is in the tables {', '.join(chosen)}"
        )
    with one_line_errors():
        found, faults = {}, []
        for name in (name for name in wanted if name in needed):
            try:
                found[name] = paper.load_domain(name, folder)
            except DataError as error:
                faults.append(" ".join(str(error).split()))
                click.echo(f"{faults[-1]}; the other domains go on", err=True)
                continue
            _remark(found[name].remarks)
        if not found:
            raise DataError(
                "no domain could be read" + ("" if folder else "; give their files with --data DIR")
            )
        plan = Plan(
            "reproduce",
            Path(output),
            found,
            paper.grid(chosen, found, variants, seed),
            paper.clips,
            seed,
            seeds if "2" in chosen else 1,
            _jobs(jobs),
            chosen,
            faults,
        )
        _run(plan)
    if faults:
        raise click.ClickException(
            f"{len(faults)} of {len(faults) + len(found)} domains are missing, see above"
        )


def _numbers(option: str, text: str, rule: str, allowed: Callable[[float], bool]) -> list[float]:
    values = set()
    for part in text.split(","):
        try:
            value = float(part)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and allowed(value)):
            raise click.UsageError(f"{option} {part.strip()}: {rule}")
        values.add(value + 0.0)  # -0 is 0
    return sorted(values)


def _names(option: str, text: str, known: Sequence[str]) -> list[str]:
    names = [part.strip() for part in text.split(",")]
    for name in names:
        if name not in known:
            raise click.UsageError(f"{option} {name}: is not one of {', '.join(known)}")
    return [name for name in known if name in names]


def _jobs(jobs: int | None) -> int:
    return jobs or int(joblib.cpu_count())


def _remark(lines: Sequence[str]) -> None:
    for line in lines:
        click.echo(line, err=True)


def _run(plan: Plan) -> None:
    """Run the cells that are missing, then write every file."""
    started, clock = datetime.datetime.now(datetime.UTC), time.perf_counter()
    try:
        plan.output.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise DataError(f"{plan.output}: is a file; name a folder with --output") from None
    store = protocol.Store(plan.output / _STORE)
    others = [
        paper.grid(("2",), plan.domains, list(dict.fromkeys(cell.leaves for cell in plan.cells)), seed)
        for seed in range(plan.seed + 1, plan.seed + plan.seeds)
    ]
    results, cpu = _run_with_bar(plan, [*plan.cells, *(cell for cells in others for cell in cells)], store)
    plan.seconds["cells"] = time.perf_counter() - clock
    _write(
        plan,
        {cell: results[cell] for cell in plan.cells},
        [{c: results[c] for c in cells} for cells in others],
    )
    plan.seconds["all"] = time.perf_counter() - clock
    run = {
        "command": plan.command,
        "started": started.isoformat(timespec="seconds"),
        "seconds": {name: round(value, 1) for name, value in plan.seconds.items()},
        "cells": len(results),
        "cells_run_now": len(cpu),
        "cpu_seconds_of_cells_run_now": round(sum(cpu), 1),
        "jobs": plan.jobs,
        "seeds": list(range(plan.seed, plan.seed + plan.seeds)),
        "faults": plan.faults,
        "domains": {name: domain.digest for name, domain in plan.domains.items()},
        "settings": settings_of(plan.cells),
        "versions": versions(),
        "machine": {"system": platform.platform(), "cpus": int(joblib.cpu_count())},
    }
    _write_text(plan.output / "run.json", json.dumps(run, indent=2) + "\n")
    click.echo(f"{len(results)} cells, {plan.seconds['all']:.0f} s\nReport  {plan.output / 'report.html'}")


def _run_with_bar(
    plan: Plan, cells: Sequence[Cell], store: protocol.Store
) -> tuple[dict[Cell, Any], list[float]]:
    """Run cells under a bar that counts effort, so that the time left is not that of equal cells."""
    effort = {cell: plan.domains[cell.domain].effort(cell) for cell in cells}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    cpu: list[float] = []
    with Progress(
        *columns,
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
        speed_estimate_period=300,
    ) as bar:
        task = bar.add_task("running", total=round(sum(effort.values()) / 1e6))
        done = 0.0

        def on_done(cell: Cell, seconds: float | None) -> None:
            """Move the bar by the effort of a cell; `seconds` is None for one that was in the store."""
            nonlocal done
            done += effort[cell] / 1e6
            bar.update(task, completed=round(done))
            if seconds is not None:
                cpu.append(seconds)

        results = protocol.run_cells(plan.domains, cells, store, n_jobs=plan.jobs, on_done=on_done)
    return results, cpu


def settings_of(cells: Sequence[Cell]) -> dict[str, Any]:
    """Say which values each part of the cells takes, and the parameters that are the same for all."""
    grid = {name: list(dict.fromkeys(getattr(cell, name) for cell in cells)) for name in Cell._fields}
    fixed = tadaboost.paper_settings(1.0)
    varied = ("t", "clip", "n_estimators", "max_leaf_nodes", "leaf_values")
    return {"grid": grid, "fixed": {name: value for name, value in fixed.items() if name not in varied}}


def versions() -> dict[str, str]:
    """Versions of all that has a say in the numbers."""
    modules = (tadaboost, np, scipy, sklearn, joblib, pl)
    return {"Python": platform.python_version()} | {one.__name__: str(one.__version__) for one in modules}


def _write(plan: Plan, results: protocol.Results, others: Sequence[protocol.Results]) -> None:
    """Write everything but run.json; the same bytes for the same results."""
    output = plan.output
    for folder in (output, output / "figures"):
        folder.mkdir(exist_ok=True)
        remove_leftovers(folder)
    cells = protocol.tidy(results, plan.clips)
    tests = protocol.compare(results, plan.clips)
    summary = protocol.summarise(results, plan.clips)
    experiment = "main" if plan.command == "reproduce" else "study"
    table = paper.table_2(
        tests.filter(pl.col("experiment") == experiment),
        [protocol.compare(one, plan.clips) for one in others],
        paper.PAPER_TABLE_2 if plan.command == "reproduce" else {},
    )
    _write_frame(output / "cells", cells, [*protocol.KEYS, "fold", "round", *protocol.MEASURES])
    _write_frame(output / "tests", tests, [*protocol.KEYS, *PValues._fields, "verdict"])
    _write_text(output / "summary.csv", summary.write_csv())
    _write_text(output / "table2.csv", table.write_csv())
    made = studyreport.groups(results, plan.clips)
    _write_figures(plan, made)
    shapes = {
        name: (domain.X.height, domain.X.width, float(domain.y.mean()))
        for name, domain in plan.domains.items()
    }
    page = studyreport.render(
        "The experiments of the paper, run again"
        if plan.command == "reproduce"
        else f"t-AdaBoost on {', '.join(plan.domains)}",
        made,
        summary,
        tests,
        table,
        seeds=range(plan.seed, plan.seed + plan.seeds),
        domains=shapes,
        faults=plan.faults,
        clipping=studyreport.clipping_of(results),
        settings=settings_of(plan.cells),
        versions=versions(),
    )
    _write_text(output / "report.html", page)


def _write_figures(plan: Plan, made: Sequence[studyreport.Group]) -> None:
    """Write the sheets, as SVG and, where matplotlib is there, as PNG."""
    sheets = {group.name: [group.panels] for group in made}
    sheets |= {f"figure1-{leaves}": rows for leaves, rows in studyreport.figure_1(made).items()}
    folder = plan.output / "figures"
    for name, rows in sheets.items():
        _write_text(folder / f"{name}.svg", studyfigures.sheet(rows))
    if importlib.util.find_spec("matplotlib") is None:
        click.echo('figures are SVG only; for PNG, too, run: pip install "tadaboost[plot]"', err=True)
        return
    # Side by side: drawing takes as long as some cells do.
    drawn = joblib.Parallel(plan.jobs, return_as="generator")(
        joblib.delayed(studyfigures.png)(rows) for rows in sheets.values()
    )
    for name, png in zip(sheets, drawn, strict=True):
        write_aside(folder / f"{name}.png", functools.partial(_put, png))


def _put(content: bytes, path: Path) -> None:
    path.write_bytes(content)


def _write_frame(path: Path, frame: pl.DataFrame, columns: Sequence[str]) -> None:
    """Write the columns of the contract as CSV and all of them as Parquet."""
    _write_text(path.with_suffix(".csv"), frame.select(columns).write_csv())
    whole = io.BytesIO()
    frame.write_parquet(whole)
    write_aside(path.with_suffix(".parquet"), lambda place: place.write_bytes(whole.getvalue()))


def _write_text(path: Path, text: str) -> None:
    write_aside(path, lambda place: place.write_text(text, "utf-8", newline="\n"))
