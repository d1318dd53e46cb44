"""TensorArrays and stacks: what a loop keeps."""
