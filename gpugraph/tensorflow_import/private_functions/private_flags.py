"""Private values that programs read or set to silence warnings. Nothing here warns by them."""

from __future__ import annotations

PRINT_DEPRECATION_WARNINGS = True
PRINTED_WARNING: dict[object, bool] = {}
