# SPDX-License-Identifier: Apache-2.0
"""The figures behind docs/reproduction.md, from the files of `tadaboost reproduce`.

    python benchmarks/claims.py reproduction

One paragraph a claim of section 7. Errors are in points (percent); a setting is a domain, noise and kind of
leaf values, and stands for the mean over its folds.
"""

import sys
from pathlib import Path

import numpy as np
import polars as pl
from scipy import stats

from tadaboost.reproduce import TABLE_2_TS
from tadaboost.significance import least_detectable

SETTING = ["domain", "leaves", "noise"]


def main(folder: Path) -> None:
    cells = pl.read_parquet(folder / "cells.parquet").filter(pl.col("experiment") == "main")
    tests = pl.read_parquet(folder / "tests.parquet").filter(pl.col("experiment") == "main")
    last = cells.filter(pl.col("round") == pl.col("n_trees"))
    means = last.group_by(*SETTING, "t", "clip", maintain_order=True).agg(
        pl.col("train_error", "test_error", "codensity_max").mean() * 100
    )
    off(cells)
    bounded(cells)
    converge(cells)
    clipping(last)
    best(means)
    noise(means)
    power(tests)
    print(pl.read_csv(folder / "table2.csv").write_csv())


def off(cells: pl.DataFrame) -> None:
    plain = cells.filter(~pl.col("clip"))
    print(
        f"off: {plain.height} rounds of {plain.height // 20} fits; most rows off {plain['n_off'].max()}, "
        f"rounds with a non-finite weight {(plain['n_nonfinite'] > 0).sum()}, "
        f"least weight {plain['codensity_min'].min():.3g}"
    )


def bounded(cells: pl.DataFrame) -> None:
    plain = cells.filter(~pl.col("clip"))
    by_round = plain.group_by(*SETTING, "t", "round").agg(pl.col("codensity_max").mean())
    at = {r: by_round.filter(pl.col("round") == r).drop("round") for r in (10, 20)}
    both = at[10].join(at[20], on=[*SETTING, "t"], suffix="_20")
    both = both.with_columns(growth=pl.col("codensity_max_20") / pl.col("codensity_max"))
    base = both.filter(pl.col("t") == 1).select(*SETTING, base="codensity_max_20")
    joined = both.join(base, on=SETTING).with_columns(ratio=pl.col("codensity_max_20") / pl.col("base"))
    for (leaves, t), group in joined.sort("leaves", "t").group_by("leaves", "t", maintain_order=True):
        print(
            f"largest weight {leaves} t={t:g}: against t=1 after 20 rounds, median "
            f"{group['ratio'].median():.2f}, below in {(group['ratio'] < 1).sum()} of {group.height}; "
            f"growth from round 10 to 20 median {group['growth'].median():.2f}"
        )


def converge(cells: pl.DataFrame) -> None:
    plain = cells.filter(~pl.col("clip"))
    for measure in ("train_error", "test_error"):
        for r in (5, 10, 20):
            one = plain.filter(pl.col("round") == r).group_by(*SETTING, "t").agg(pl.col(measure).mean() * 100)
            base = one.filter(pl.col("t") == 1).select(*SETTING, base=measure)
            gap = one.join(base, on=SETTING).with_columns(gap=pl.col(measure) - pl.col("base"))
            for leaves in ("theorem_a", "canonical"):
                text = []
                for t in sorted(gap["t"].unique()):
                    d = gap.filter((pl.col("t") == t) & (pl.col("leaves") == leaves))["gap"].to_numpy()
                    if t != 1:
                        text.append(
                            f"t={t:g}: {d.mean():+.2f} (sd {d.std(ddof=1):.2f}, largest {abs(d).max():.2f})"
                        )
                print(f"{measure} after {r} rounds less that of t=1, {leaves}: " + "; ".join(text))


def clipping(last: pl.DataFrame) -> None:
    keys = [*SETTING, "t", "fold"]
    plain = last.filter(~pl.col("clip")).select(*keys, plain="test_error")
    both = last.filter(pl.col("clip") & (pl.col("t") != 1)).join(plain, on=keys)
    both = both.with_columns(gap=100 * (pl.col("test_error") - pl.col("plain")))
    for (leaves, t), group in both.sort("leaves", "t").group_by("leaves", "t", maintain_order=True):
        of = group.group_by(SETTING).agg(mean=pl.col("gap").mean(), some=(pl.col("gap") != 0).any())
        d = of["mean"].to_numpy()
        p = stats.wilcoxon(d).pvalue if d.any() else np.nan
        print(
            f"clipped less plain, {leaves} t={t:g}: folds that differ {(group['gap'] != 0).sum()} of "
            f"{group.height}, mean {d.mean():+.3f} points, better/equal/worse settings "
            f"{(d < 0).sum()}/{(d == 0).sum()}/{(d > 0).sum()}, Wilcoxon over settings p = {p:.3f}"
        )


def best(means: pl.DataFrame) -> None:
    plain = means.filter(~pl.col("clip") & pl.col("t").is_in(TABLE_2_TS))
    for (leaves, eta), group in plain.group_by("leaves", "noise", maintain_order=True):
        table = group.pivot("t", index="domain", values="test_error").drop("domain").to_numpy()
        ranks = stats.rankdata(table, axis=1)
        test = stats.friedmanchisquare(*table.T)
        wins = ", ".join(
            f"t={t:g} {n}"
            for t, n in zip(TABLE_2_TS, (ranks == ranks.min(axis=1, keepdims=True)).sum(axis=0), strict=True)
        )
        mean = ", ".join(f"{rank:.2f}" for rank in ranks.mean(axis=0))
        print(
            f"best t, {leaves}, noise {eta:g}: least error on {wins}; mean ranks {mean}; "
            f"Friedman p = {test.pvalue:.3f}"
        )


def noise(means: pl.DataFrame) -> None:
    plain = means.filter(~pl.col("clip"))
    clean = plain.filter(pl.col("noise") == 0).select("domain", "leaves", "t", clean="test_error")
    rise = plain.filter(pl.col("noise") > 0).join(clean, on=["domain", "leaves", "t"])
    rise = rise.with_columns(rise=pl.col("test_error") - pl.col("clean"))
    base = rise.filter(pl.col("t") == 1).select("domain", "leaves", base="rise")
    rise = rise.join(base, on=["domain", "leaves"]).with_columns(more=pl.col("rise") - pl.col("base"))
    for (leaves, t), group in rise.sort("leaves", "t").group_by("leaves", "t", maintain_order=True):
        d = group["more"].to_numpy()
        p = stats.wilcoxon(d).pvalue if d.any() else np.nan
        print(
            f"noise, {leaves} t={t:g}: error rises by {group['rise'].mean():.2f} points, {d.mean():+.2f} "
            f"against t=1 (better {(d < 0).sum()}, worse {(d > 0).sum()} of {len(d)}; Wilcoxon p = {p:.3f})"
        )


def power(tests: pl.DataFrame) -> None:
    plain = tests.filter(~pl.col("clip") & pl.col("t").is_in(TABLE_2_TS))
    for (domain,), group in plain.group_by("domain", maintain_order=True):
        spread = 100 * group["spread"].median()
        print(
            f"power, {domain}: spread of differences {spread:.2f} points; "
            f"found in 8 of 10: {least_detectable(spread, 10):.2f}"
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
