# SPDX-License-Identifier: Apache-2.0
import gc

from hypothesis import settings

# A deadline for one example measures how busy the machine is, not the code.
# The profile of `.ci/nightly` has many times the examples.
settings.register_profile("tadaboost", deadline=None, max_examples=40)
settings.load_profile("tadaboost")


def pytest_collection_finish():
    gc.freeze()  # thousands of tests are millions of objects, and every full collection would go through them
