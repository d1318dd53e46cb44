"""Element types, and what brings tensors from one to another, as `tf.dtypes` has them."""

from gpugraph import dtypes
from gpugraph.dtypes import *  # noqa: F403
from gpugraph.ops.array_functions import saturate_cast
from gpugraph.ops.casting import cast
from gpugraph.ops.complex_parts import complex
from gpugraph.ops.string_numbers import as_string

__all__ = ["as_string", "cast", "complex", "saturate_cast"]
__all__ += dtypes.__all__
