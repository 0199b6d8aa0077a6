# SPDX-License-Identifier: Apache-2.0
"""A fit has the same bits on every machine: with vector instructions or without, in release or debug builds.

`.ci/run` runs this in a release build, whose kernels are chosen for the processor, and in the debug build,
which has none but the plain ones. Other digests are other models: say so in the changelog.
"""

import hashlib

import numpy as np
import pytest

from tadaboost import TAdaBoostClassifier

DIGESTS = {
    -0.5: "7ddd8040ba863b5e",
    0.0: "e47b1e85ca2a62ca",
    0.5: "a0358484c1fe60bb",
    0.8: "0a5948314dac5c5e",
    1.0: "a493056fe9af0252",
    1.3: "7f604f1ab9ce90ad",
}


def table():
    """Whole numbers by arithmetic alone: numeric columns with many and few values, missing ones, levels."""
    i = np.arange(3000, dtype=np.int64)
    draw = [
        (i * a % 10007) * (i + b) % 1009 for a, b in ((7919, 1), (104729, 5), (1299709, 11), (15485863, 3))
    ]
    X = np.stack(draw, axis=1).astype(np.float64)
    X[:, 1] %= 7
    X[:, 3] %= 23
    X[draw[0] % 11 == 0, 2] = np.nan
    y = (draw[0] + 200 * (draw[1] % 7) + draw[2] % 500 + 97 * (draw[3] % 5)) % 1500 > 700
    weight = 1.0 + draw[1] % 3
    return X, y, weight


@pytest.mark.parametrize("t", DIGESTS)
def test_a_fit_has_these_bits(t):
    X, y, weight = table()
    digest = hashlib.sha256()
    for w, smoothing in ((None, 0.0), (weight, 2.0), (weight / 7, 20.0)):
        model = TAdaBoostClassifier(
            t, n_estimators=12, categorical_features=[3], cat_smoothing=smoothing, n_jobs=1
        )
        model.fit(X, y, sample_weight=w)
        for tree in model.trees_:
            for array in tree:
                digest.update(array.astype(array.dtype.newbyteorder("<")).tobytes())
        digest.update(model.decision_function(X).astype("<f8").tobytes())
    assert digest.hexdigest()[:16] == DIGESTS[t]
