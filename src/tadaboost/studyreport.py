# SPDX-License-Identifier: Apache-2.0
"""One HTML page about a study: Table 2 beside the paper's, the panels, a sortable table, the settings.

The page is `templates/study.html`; `Group` is the cells that differ in t only: a row of panels on the
page, and a file in `figures`.
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup

from tadaboost import reproduce, studyfigures
from tadaboost.report import page_template
from tadaboost.study import KEYS, OUTCOMES, Cell, Results
from tadaboost.studyfigures import Panel

LEAVES = {
    "theorem_a": "leaf values by equation (63), the paper's text",
    "canonical": "leaf values by the canonical link, the authors' program",
    "exact": "leaf values that minimise the loss",
}
Clips = Callable[[Cell], Sequence[bool]]


@dataclass(frozen=True)
class Group:
    """Cells that differ in t only, as panels."""

    cell: Cell  # one of them
    panels: list[Panel]

    @property
    def name(self) -> str:
        """Name its file, without an ending."""
        cell = self.cell
        safe = re.sub(r"[^\w.-]+", "_", cell.domain)
        return f"{cell.experiment}-{safe}-{cell.leaves}-noise{cell.noise:g}"

    @property
    def ts(self) -> list[float]:
        """The temperatures."""
        return [t for t, _ in self.panels[0].curves]


def groups(results: Results, clips: Clips) -> list[Group]:
    """Make the panels of all cells, in their order."""
    together: dict[Cell, list[Cell]] = {}
    for cell in results:
        together.setdefault(cell._replace(t=0.0), []).append(cell)
    trained = {reproduce.APPENDIX[table] for table in reproduce.TRAINING_TABLES}
    made = []
    for cells in together.values():
        cell = cells[0]
        training = cell.experiment == "study" or (cell.experiment == "main" and cell.domain in trained)
        where = f"{cell.domain}, noise {cell.noise:g}, {cell.leaves}"
        made.append(Group(cell, studyfigures.panels(results, cells, where, clips(cell), training=training)))
    return made


def clipping_of(results: Results) -> tuple[int, int]:
    """Count the folds on which clipping changes the last error, and all folds; t = 1 has no clipping."""
    pairs = [
        (curves["test_error"], curves["test_error_clipped"]) for c, curves in results.items() if c.t != 1
    ]
    return sum(int((a[:, -1] != b[:, -1]).sum()) for a, b in pairs), sum(len(a) for a, _ in pairs)


def figure_1(made: Sequence[Group]) -> dict[str, list[list[Panel]]]:
    """Pick the rows of the paper's Figure 1, for each kind of leaf values with all of them."""
    by_key = {(g.cell.leaves, g.cell.domain, g.cell.noise): g for g in made if g.cell.experiment == "main"}
    sheets = {}
    for leaves in dict.fromkeys(g.cell.leaves for g in made):
        keys = [(leaves, *row) for row in reproduce.FIGURE_1]
        if all(key in by_key for key in keys):
            sheets[leaves] = [by_key[key].panels[:4] for key in keys]
    return sheets


def render(
    title: str,
    made: Sequence[Group],
    summary: pl.DataFrame,
    tests: pl.DataFrame,
    table: pl.DataFrame,
    *,
    seeds: Sequence[int],
    domains: Mapping[str, tuple[int, int, float]],
    faults: Sequence[str],
    clipping: tuple[int, int],
    settings: Mapping[str, Any],
    versions: Mapping[str, str],
) -> str:
    """Render the page.

    Parameters
    ----------
    title : str
    made : sequence of Group
    summary, tests, table : polars.DataFrame
        As `study.summarise`, `study.compare` and `reproduce.table_2` give them.
    seeds : sequence of int
        The first made everything on the page, the others only the ranges of Table 2.
    domains : mapping
        Rows, columns and the share of positive rows of each.
    faults : sequence of str
        What was wrong with the domains that are not there.
    clipping : tuple of int
        On how many folds the clipped model's last error is not the plain one's, and of how many.
    settings, versions : mapping

    Returns
    -------
    str
        HTML without a reference to anything outside; the same text for the same results.
    """
    script = (Path(__file__).parent / "templates" / "study.js").read_text("utf-8").strip()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return page_template("study.html").render(
        title=title,
        script=Markup(script),  # our own text, allowed by its hash
        script_hash=digest,
        panel_style=Markup(studyfigures.STYLE),
        tables=_tables(table),
        has_paper="better_paper" in table.columns,
        agreement=_agreement(table),
        seeds=seeds,
        sections=_sections(made),
        figure_1=list(figure_1(made)),
        rows=_rows(summary, tests),
        n_fits=sum(len(group.ts) for group in made) * made[0].cell.folds,
        cell=made[0].cell,
        domains=domains,
        faults=faults,
        clipping=clipping,
        leaves_in_words=LEAVES,
        grid=[(name, ", ".join(map(_short, values))) for name, values in settings["grid"].items()],
        fixed=list(settings["fixed"].items()),
        versions=versions,
    )


def _tables(table: pl.DataFrame) -> list[dict[str, Any]]:
    """Lay out the counts: for each leaves a row a noise, a column a t and clip."""
    tables = []
    for leaves in table["leaves"].unique(maintain_order=True) if table.height else []:
        part = table.filter(pl.col("leaves") == leaves)
        columns = part.select("t", "clip").unique(maintain_order=True).sort("t", "clip").rows()
        cells = {(row["noise"], row["t"], row["clip"]): row for row in part.iter_rows(named=True)}
        noises = part["noise"].unique().sort().to_list()
        lines = [(noise, [_counts(cells.get((noise, *column))) for column in columns]) for noise in noises]
        tables.append(
            {"leaves": leaves, "columns": columns, "lines": lines, "domains": part["domains"].max()}
        )
    return tables


def _counts(row: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if row is None:
        return None
    cell: dict[str, Any] = {"ours": _slashed(row, "")}
    if "better_paper" in row:
        cell |= {"paper": _slashed(row, "_paper"), "same": _slashed(row, "") == _slashed(row, "_paper")}
    if "better_low" in row:
        spans = [(row[f"{name}_low"], row[f"{name}_high"]) for name in OUTCOMES]
        cell["range"] = " / ".join(str(low) if low == high else f"{low}–{high}" for low, high in spans)
        cell["in_range"] = row["paper_in_range"]
    return cell


def _slashed(row: Mapping[str, Any], suffix: str) -> str:
    return " / ".join(str(row[name + suffix]) for name in OUTCOMES)


def _agreement(table: pl.DataFrame) -> list[dict[str, Any]]:
    """For each leaves: how many cells have the paper's counts, and how far they are from them."""
    if "better_paper" not in table.columns:
        return []
    found: list[dict[str, Any]] = []
    for leaves in table["leaves"].unique(maintain_order=True):
        part = table.filter(pl.col("leaves") == leaves)
        apart = [(part[name] - part[f"{name}_paper"]).abs() for name in OUTCOMES]
        moved = (apart[0] + apart[1] + apart[2]).sum() / 2 / part.height
        same = int((apart[0] + apart[1] + apart[2] == 0).sum())
        line: dict[str, Any] = {"leaves": leaves, "cells": part.height, "same": same, "moved": float(moved)}
        if "paper_in_range" in part.columns:
            line["in_range"] = int(part["paper_in_range"].sum())
        for who, suffix in (("ours", ""), ("paper", "_paper"), ("holm", "_holm")):
            line[who] = ", ".join(str(int(part[name + suffix].sum())) for name in OUTCOMES)
        found.append(line)
    return found


def _sections(made: Sequence[Group]) -> list[dict[str, Any]]:
    """Put the panels of a domain and experiment together."""
    tables: dict[str, list[str]] = {}
    for name, domain in reproduce.APPENDIX.items():
        tables.setdefault(domain, []).append(name)
    sections: dict[tuple[str, str], dict[str, Any]] = {}
    for group in made:
        experiment, domain = group.cell.experiment, group.cell.domain
        label = {"main": " and ".join(tables.get(domain, [])), "A16": "A16"}.get(experiment, "")
        section = sections.setdefault(
            (experiment, domain),
            {
                "id": re.sub(r"\W+", "-", f"{experiment}-{domain}"),
                "title": domain + (f" (Table {label})" if label else ""),
                "cell": group.cell,
                "scale": studyfigures.scale(group.ts),
                "groups": [],
            },
        )
        section["groups"].append(
            {
                "leaves": group.cell.leaves,
                "noise": group.cell.noise,
                "file": group.name,
                "panels": [(panel.title, studyfigures.draw(panel, group.ts)) for panel in group.panels],
            }
        )
    return list(sections.values())


def _rows(summary: pl.DataFrame, tests: pl.DataFrame) -> list[dict[str, Any]]:
    """Join means and p-values, a row a setting."""
    p_values = [name for name in tests.columns if name.startswith("p_") or name == "verdict"]
    joined = summary.join(tests.select(*KEYS, *p_values), on=KEYS, how="left", maintain_order="left")
    rows = []
    for row in joined.iter_rows(named=True):
        shown = {name: _p(row[name]) for name in p_values if name != "verdict"}
        verdict = row["verdict"] or ("reference" if row["t"] == 1 else "")
        rows.append(row | {f"{name}_shown": text for name, text in shown.items()} | {"verdict": verdict})
    return rows


def _p(value: float | None) -> str:
    if value is None or math.isnan(value):
        return ""
    return f"{value:.3f}" if value >= 0.001 else "<0.001"


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
