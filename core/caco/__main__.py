"""``python -m caco``."""

from __future__ import annotations

import sys

from caco.cli import main

if __name__ == "__main__":
    sys.exit(main())
