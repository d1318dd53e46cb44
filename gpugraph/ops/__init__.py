"""The op library: every op declared once, family by family.

A family is imported when a program names one of its functions or uses one of its op types
(`op_index.py`). This module only imports the conversion of values to tensors.
"""

from gpugraph.ops.arrays import concat_and_stack, indexed_slices_to_tensor
from gpugraph.ops.framework import constant_value, tensor_conversion
