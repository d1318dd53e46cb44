"""Quantization and its simulation with floating-point numbers."""

from gpugraph.ops.elementwise.fake_quantization import (
    fake_quant_with_min_max_args as fake_quant_with_min_max_args,
    fake_quant_with_min_max_args_gradient as fake_quant_with_min_max_args_gradient,
    fake_quant_with_min_max_vars as fake_quant_with_min_max_vars,
    fake_quant_with_min_max_vars_gradient as fake_quant_with_min_max_vars_gradient,
    fake_quant_with_min_max_vars_per_channel as fake_quant_with_min_max_vars_per_channel,
    fake_quant_with_min_max_vars_per_channel_gradient as \
    fake_quant_with_min_max_vars_per_channel_gradient,
)
from gpugraph.ops.elementwise.quantization_ops import (
    dequantize as dequantize, quantize as quantize,
    quantize_and_dequantize as quantize_and_dequantize,
)
