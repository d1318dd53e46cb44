"""Element types, and what brings tensors from one to another, as `tf.dtypes` has them."""

from gpugraph.base import dtypes
from gpugraph.base.dtypes import *  # noqa: F403
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.elementwise.complex_parts import complex
from gpugraph.ops.indexing.batch_gather_and_repeat import saturate_cast
from gpugraph.ops.strings.string_to_number import as_string

__all__ = ["as_string", "cast", "complex", "saturate_cast"]
__all__ += dtypes.__all__
