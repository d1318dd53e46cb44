"""TensorArrays, tensor lists, and the stacks on which loops store values for their gradients."""
