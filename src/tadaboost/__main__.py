# SPDX-License-Identifier: Apache-2.0
"""`python -m tadaboost` is the command `tadaboost`."""

from tadaboost.cli import main

if __name__ == "__main__":
    main()
