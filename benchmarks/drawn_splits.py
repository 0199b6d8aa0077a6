# SPDX-License-Identifier: Apache-2.0
"""What it does to errors that the authors' program tries 2,000 drawn splits where there are more, ours all.

    python benchmarks/drawn_splits.py ../shared/data/uci [sonar,hillnonoise,...]

Same folds and labels for both; prints the mean difference of test errors (drawn less all) and its error.
"""

import importlib.util
import sys
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedKFold

from tadaboost import TAdaBoostClassifier, paper_settings, reproduce

_spec = importlib.util.spec_from_file_location("drawn", Path(__file__).parents[1] / "tests" / "drawn.py")
assert _spec is not None
assert _spec.loader is not None
drawn = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(drawn)


def main(folder: Path, names: list[str], ts: tuple[float, ...] = (0.6, 1.0), seed: int = 0) -> None:
    for name in names:
        domain = reproduce.load_domain(name, folder)
        X = domain.X.to_numpy()
        splits = sum(len(np.unique(column)) - 1 for column in X.T)
        for t in ts:
            differences, levels = [], []
            folds = StratifiedKFold(10, shuffle=True, random_state=seed).split(X, domain.y)
            for fold, (train, test) in enumerate(folds):
                model = TAdaBoostClassifier(**paper_settings(t) | {"n_jobs": 1}).fit(
                    X[train], domain.y[train]
                )
                rng = np.random.default_rng([seed, fold])
                score = drawn.fit_and_score(X[train], domain.y[train], X[test], t=t, rng=rng, n_drawn=2000)
                every = (model.predict(X[test]) != domain.y[test]).mean()
                levels.append(every)
                differences.append(((score > 0) != domain.y[test]).mean() - every)
            mean, se = np.mean(differences), np.std(differences, ddof=1) / np.sqrt(10)
            print(
                f"{name}: {splits} splits, t = {t:g}: all {100 * np.mean(levels):.2f} %, "
                f"drawn {100 * mean:+.2f} ± {100 * se:.2f} points",
                flush=True,
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]), (sys.argv[2] if len(sys.argv) > 2 else "sonar,hillnonoise,hillnoise").split(","))
