"""The op library: every op declared once, family by family. Importing it declares them all."""

from __future__ import annotations

from gpugraph.ops import arithmetic, constant_value, constants, control, state

__all__ = ["arithmetic", "constant_value", "constants", "control", "state"]
