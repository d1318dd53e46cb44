"""Functions of each element: arithmetic, comparisons, logic, Python's operators."""

from gpugraph.ops.elementwise import (
    arithmetic_functions,
    bitwise_integers,
    comparison_and_select,
    complex_conjugate,
    complex_parts,
    division,
    element_launches,
    error_function,
    fake_quantization,
    operator_overloads,
    quantization_ops,
    trigonometry,
    unary_functions,
    unary_gradients,
    xlogy_and_nextafter,
)
