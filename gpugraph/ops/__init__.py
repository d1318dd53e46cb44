"""The op library. Each op is declared once, in the package of its family.

A family is imported when a program uses one of its functions or op types (`op_index.py`). Importing
`ops` itself only imports the conversion of values to tensors.
"""

from gpugraph.ops.arrays import concat_and_stack, indexed_slices_to_tensor
from gpugraph.ops.framework import constant_value, tensor_conversion
