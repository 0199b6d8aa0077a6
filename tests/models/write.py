# SPDX-License-Identifier: Apache-2.0
"""Write the files of this release, a `.tada` and its predictions each: `python tests/models/write.py`, once.

Files of earlier releases stay as they are; tests/test_models.py reads them all.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd

import tadaboost
from tadaboost import TAdaBoostClassifier, TemperedTreeClassifier

COLUMNS = {"size": float, "colour": object, "level": float, "flag": bool}  # how the rows below are read again


def rows(n, seed):
    """Numbers, text, a category of numbers and truth values; a tenth of the first three is missing."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "size": np.exp(rng.normal(0, 3, n)),
            "colour": rng.choice(["red", "grün", "blue", "\U0001f333"], n).astype(object),
            "level": rng.choice([1.0, 2.0, 30.0], n),
            "flag": rng.random(n) < 0.5,
        }
    )
    for name in ("size", "colour", "level"):
        table.loc[rng.random(n) < 0.1, name] = None
    return table


def models():
    """Give the models by name: between them all that a file can hold."""
    X = rows(300, seed=0)
    signal = np.log(X["size"].fillna(1.0)) + 2.0 * (X["colour"] == "red") + X["flag"]
    signal += np.random.default_rng(1).normal(size=len(X))
    columns = {"categorical_features": ["colour", "level"]}
    weight = np.random.default_rng(2).integers(0, 4, len(X))
    two = np.where(signal > 1.0, "yes", "no")
    return {
        "binary": TAdaBoostClassifier(0.3, n_estimators=8, clip=True, record_weights=True, **columns).fit(
            X, two, weight
        ),
        "three": TAdaBoostClassifier(
            1.1, n_estimators=6, leveraging="closed", class_weight={-7: 1.0, 0: 2.5, 9: 1.0}, **columns
        ).fit(X, np.array([-7, 0, 9])[np.digitize(signal, [0.0, 2.0])]),
        "tree": TemperedTreeClassifier(0.5, **columns).fit(X, signal > 1.0),
    }


def main():
    """Write what is not there yet."""
    X = rows(40, seed=3)
    X.loc[0, "colour"] = "never seen"
    for name, model in models().items():
        path = Path(__file__).with_name(f"{tadaboost.__version__}-{name}.tada")
        if path.exists():
            print(f"{path.name} is there and stays")
            continue
        tadaboost.save(model, path)
        expected = {
            "X": json.loads(X.to_json(orient="split", index=False, double_precision=15)),
            "decision_function": model.decision_function(X).tolist(),
            "predict_proba": model.predict_proba(X).tolist(),
            "predict": model.predict(X).tolist(),
        }
        path.with_suffix(".json").write_text(json.dumps(expected, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
