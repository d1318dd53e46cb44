"""Bitwise operations on integers."""

from gpugraph.ops.elementwise.bitwise_integers import (
    bitwise_and as bitwise_and, bitwise_or as bitwise_or, bitwise_xor as bitwise_xor,
    invert as invert, left_shift as left_shift, right_shift as right_shift,
)
