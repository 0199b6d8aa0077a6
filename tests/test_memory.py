# SPDX-License-Identifier: Apache-2.0
"""Memory stays flat over many fits and predictions, in a process of its own."""

import subprocess
import sys

import pytest

SCRIPT = """
import resource, sys
import numpy as np
from tadaboost import TAdaBoostClassifier, TemperedTreeClassifier

def peak():
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else 1024 * used

rng = np.random.default_rng(0)
X, weight = rng.normal(size=(4_000, 8)), rng.random(4_000)
y = np.digitize(X[:, 0] + rng.normal(size=4_000), [-0.5, 0.5])
settings = [
    (TAdaBoostClassifier(n_estimators=3, n_jobs=2, record_weights=True), y > 0, None),
    (TAdaBoostClassifier(n_estimators=2, n_jobs=1), y, weight),
    (TAdaBoostClassifier(n_estimators=3, n_jobs=1, early_stopping=True, random_state=0), y > 0, weight),
    (TemperedTreeClassifier(n_jobs=1), y > 0, None),
]

def fits(n):
    for i in range(n):
        model, labels, w = settings[i % len(settings)]
        model.fit(X, labels, w)

def predictions(n):
    for i in range(n):
        settings[i % len(settings)][0].predict(X[i % 4000][None])

fits(40)
before = peak()
fits(300)
between = peak()
predictions(500)
warm = peak()
predictions(10_000)
print(between - before, peak() - warm)
"""


@pytest.mark.slow
def test_300_fits_and_10000_predictions_leave_memory_flat():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    of_fits, of_predictions = map(int, done.stdout.split())
    # The codes of the rows alone are 32 kB a fit, 9.6 MB in 300; 200 bytes a prediction would be 2 MB.
    assert of_fits < 4e6
    assert of_predictions < 2e6
