"""TensorArrays and stacks: what a loop keeps."""

from gpugraph.ops.tensor_arrays import (
    container_ops,
    element_array,
    element_stack,
    element_store,
    gather_scatter_split_ops,
    gradient_arrays,
    many_elements,
    read_write_ops,
    stack_ops,
    tensor_array,
)
