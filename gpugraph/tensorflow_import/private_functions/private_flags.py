"""Private values that programs read, or set to silence warnings. They have no effect."""

from __future__ import annotations

PRINT_DEPRECATION_WARNINGS = True
PRINTED_WARNING: dict[object, bool] = {}
