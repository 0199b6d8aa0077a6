# SPDX-License-Identifier: Apache-2.0
from hypothesis import settings

# A deadline for one example measures how busy the machine is, not the code.
settings.register_profile("tadaboost", deadline=None)
settings.load_profile("tadaboost")
