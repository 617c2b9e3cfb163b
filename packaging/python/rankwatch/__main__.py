# SPDX-License-Identifier: MIT
"""python -m rankwatch: the command itself."""
import sys

from rankwatch._command import main

if __name__ == "__main__":
    sys.exit(main())
