# SPDX-License-Identifier: Apache-2.0
"""pytest plugin: hypothesis profile "long", $EXAMPLES examples a test unless it sets its own number."""

import os

from hypothesis import settings

settings.register_profile("long", max_examples=int(os.environ["EXAMPLES"]), deadline=None, derandomize=False)
