"""`python -m familiar_connect` is the same as `familiar`."""

from __future__ import annotations

import sys

from familiar_connect.cli import main

sys.exit(main())
