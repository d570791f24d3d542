"""`python -m familiar_connect` is the same as `familiar`."""

from __future__ import annotations

from familiar_connect.cli import end_program, main

end_program(main())
