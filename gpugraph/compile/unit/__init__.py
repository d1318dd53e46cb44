"""The data between passes: the unit, guards, levels of loops, and the switches of rewrites."""
