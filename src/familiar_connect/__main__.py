"""`python -m familiar_connect` is the same as `familiar`."""

from __future__ import annotations

import sys

from familiar_connect.cli import main

code = main()
if threads := sys.modules.get("familiar_connect.support.thread_pools"):  # loaded where there is something to end
    threads.end_process(code)
sys.exit(code)
