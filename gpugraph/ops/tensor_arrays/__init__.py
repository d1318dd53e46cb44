"""TensorArrays and stacks, which hold the values that a loop keeps."""
