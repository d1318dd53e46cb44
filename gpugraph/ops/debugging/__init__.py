"""Asserts, and checks of numbers and shapes."""

from gpugraph.ops.debugging import assert_kernel, check_numerics, ensure_shape, timestamp
