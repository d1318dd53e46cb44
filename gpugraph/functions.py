"""The functions of `tf`: what makes ops, by the names that TensorFlow has at its top."""

# fmt: off
# isort: off
from gpugraph.checks import (
    add_check_numerics_ops, assert_equal, assert_greater, assert_greater_equal, assert_integer,
    assert_less, assert_less_equal, assert_near, assert_negative, assert_non_negative,
    assert_non_positive, assert_none_equal, assert_positive, assert_proper_iterable, assert_rank,
    assert_rank_at_least, assert_rank_in, assert_same_float_dtype, assert_scalar, assert_type,
    is_non_decreasing, is_numeric_tensor, is_strictly_increasing, verify_tensor_all_finite,
)
from gpugraph.math import (
    accumulate_n, acos, acosh, angle, asin, asinh, atan, atan2, atanh, betainc, bincount,
    confusion_matrix, cosh, count_nonzero, digamma, erfc, igamma, igammac, imag, lbeta, lgamma,
    log_sigmoid, polygamma, real, scalar_mul, segment_max, segment_mean, segment_min,
    segment_prod, segment_sum, sinh,
    unsorted_segment_max, unsorted_segment_mean, unsorted_segment_min, unsorted_segment_prod,
    unsorted_segment_sqrt_n, unsorted_segment_sum, zeta,
)
from gpugraph.ops.arg_reductions import argmax, argmin
from gpugraph.ops.arithmetic_functions import (
    add, add_n, div, div_no_nan, divide, floor_div, floordiv, floormod, maximum, minimum, mod,
    multiply, pow, squared_difference, subtract, truediv, truncatediv, truncatemod,
)
from gpugraph.ops.array_functions import (
    arg_max, arg_min, batch_gather, bitcast, realdiv, repeat, saturate_cast, to_complex128,
    to_complex64,
)
from gpugraph.ops.array_shapes import (
    broadcast_to, expand_dims, invert_permutation, reshape, reverse, reverse as reverse_v2,
    squeeze, transpose,
)
from gpugraph.ops.arrays import identity, rank, shape, shape_n, size, stop_gradient
from gpugraph.ops.casting import cast, to_bfloat16, to_double, to_float, to_int32, to_int64
from gpugraph.ops.clipping import (
    clip_by_average_norm, clip_by_global_norm, clip_by_norm, clip_by_value, global_norm,
)
from gpugraph.ops.comma_separated import decode_csv
from gpugraph.ops.complex_numbers import conj
from gpugraph.ops.complex_parts import complex
from gpugraph.ops.constants import (
    fill, ones, ones_like, placeholder, placeholder_with_default, zeros, zeros_like,
)
from gpugraph.ops.control import group, no_op, tuple
from gpugraph.ops.convert import constant, convert_to_tensor, register_tensor_conversion_function
from gpugraph.ops.counting import count_up_to
from gpugraph.ops.declare import Attr, NO_GRADIENT, raw_ops, register_op
from gpugraph.ops.diagonals import matrix_diag, matrix_diag_part, matrix_set_diag
from gpugraph.ops.dynamic_partition import dynamic_partition
from gpugraph.ops.edit_distances import edit_distance
from gpugraph.ops.einsum import einsum
from gpugraph.ops.factorizations import qr, self_adjoint_eig, self_adjoint_eigvals, svd
from gpugraph.ops.fake_quantization import (
    fake_quant_with_min_max_args, fake_quant_with_min_max_args_gradient,
    fake_quant_with_min_max_vars, fake_quant_with_min_max_vars_gradient,
    fake_quant_with_min_max_vars_per_channel, fake_quant_with_min_max_vars_per_channel_gradient,
)
from gpugraph.ops.file_contents import matching_files, read_file, write_file
from gpugraph.ops.fourier import fft, fft2d, fft3d, ifft, ifft2d, ifft3d
from gpugraph.ops.gathering import boolean_mask, gather
from gpugraph.ops.grids import (
    broadcast_dynamic_shape, broadcast_static_shape, meshgrid, sequence_mask, unravel_index,
)
from gpugraph.ops.guarantees import (
    fingerprint, guarantee_const, parallel_stack, timestamp,
)
from gpugraph.ops.histograms import histogram_fixed_width, histogram_fixed_width_bins
from gpugraph.ops.identity_n import identity_n
from gpugraph.ops.indexed_slices import convert_to_tensor_or_indexed_slices
from gpugraph.ops.initializers import (
    Constant as constant_initializer, GlorotNormal as glorot_normal_initializer,
    GlorotUniform as glorot_uniform_initializer, Ones as ones_initializer,
    Orthogonal as orthogonal_initializer, RandomNormal as random_normal_initializer,
    RandomUniform as random_uniform_initializer, TruncatedNormal as truncated_normal_initializer,
    UniformUnitScaling as uniform_unit_scaling_initializer,
    VarianceScaling as variance_scaling_initializer, Zeros as zeros_initializer,
)
from gpugraph.ops.joining import concat, stack
from gpugraph.ops.kernels import HostOnly, register_kernel
from gpugraph.ops.linalg import matmul, matrix_transpose, tensordot
from gpugraph.ops.cross_products import cross
from gpugraph.ops.linalg_functions import cholesky_solve, eye, matrix_solve_ls, norm, trace
from gpugraph.ops.logical import (
    equal, greater, greater_equal, less, less_equal, logical_and, logical_not, logical_or,
    logical_xor, not_equal, where, where_v2,
)
from gpugraph.ops.matrix_functions import matrix_square_root
from gpugraph.ops.matrix_parts import diag, diag_part, matrix_band_part
from gpugraph.ops.numeric_checks import check_numerics
from gpugraph.ops.ordering import argsort, roll, searchsorted, sort
from gpugraph.ops.padding import pad, tile
from gpugraph.ops.patches import extract_image_patches, extract_volume_patches
from gpugraph.ops.printing import Print, print
from gpugraph.ops.random import random_normal, random_uniform, set_random_seed, truncated_normal
from gpugraph.ops.random_choices import multinomial, random_crop, random_shuffle
from gpugraph.ops.random_gamma import random_gamma, random_poisson
from gpugraph.ops.raw_decoding import decode_raw
from gpugraph.ops.reduction_functions import (
    reduce_all, reduce_any, reduce_logsumexp, reduce_max, reduce_mean, reduce_min, reduce_prod,
    reduce_sum,
)
from gpugraph.ops.regular_expressions import regex_replace
from gpugraph.ops.reverse_sequence import reverse_sequence
from gpugraph.ops.scatter_updates import (
    batch_scatter_update, scatter_add, scatter_div, scatter_max, scatter_min, scatter_mul,
    scatter_nd_add, scatter_nd_sub, scatter_nd_update, scatter_sub, scatter_update,
)
from gpugraph.ops.scattering import (
    gather_nd, scatter_nd, tensor_scatter_add, tensor_scatter_add as tensor_scatter_nd_add,
    tensor_scatter_sub as tensor_scatter_nd_sub, tensor_scatter_update as tensor_scatter_nd_update,
    tensor_scatter_max as tensor_scatter_nd_max, tensor_scatter_min as tensor_scatter_nd_min,
    tensor_scatter_sub, tensor_scatter_update,
)
from gpugraph.ops.script import numpy_function, py_func
from gpugraph.ops.selection import dynamic_stitch, lin_space, linspace, one_hot, unique
from gpugraph.ops.sequences import cumprod, cumsum, range
from gpugraph.ops.sets import setdiff1d, unique_with_counts
from gpugraph.ops.shape_checks import ensure_shape
from gpugraph.ops.slicing import newaxis, slice, strided_slice
from gpugraph.ops.solving import (
    cholesky, matrix_determinant, matrix_inverse, matrix_solve, matrix_triangular_solve,
)
from gpugraph.ops.sparse_functions import (
    sparse_add, sparse_concat, sparse_fill_empty_rows, sparse_maximum, sparse_minimum,
    sparse_reorder, sparse_reshape, sparse_retain, sparse_slice, sparse_softmax, sparse_split,
    sparse_tensor_dense_matmul, sparse_tensor_to_dense, sparse_to_dense, sparse_to_indicator,
    sparse_transpose,
)
from gpugraph.ops.sparse_reductions import (
    sparse_reduce_max, sparse_reduce_max_sparse, sparse_reduce_sum, sparse_reduce_sum_sparse,
)
from gpugraph.ops.sparse_segments import (
    sparse_segment_mean, sparse_segment_sqrt_n, sparse_segment_sum,
)
from gpugraph.ops.sparse_shapes import sparse_mask, sparse_merge, sparse_reset_shape
from gpugraph.ops.sparse_tensor import (
    SparseTensor, SparseTensorValue, convert_to_tensor_or_sparse_tensor, sparse_placeholder,
)
from gpugraph.ops.spatial_blocks import (
    batch_to_space, batch_to_space_nd, depth_to_space, space_to_batch, space_to_batch_nd,
    space_to_depth,
)
from gpugraph.ops.spatial_rates import required_space_to_batch_paddings
from gpugraph.ops.splitting import split, unstack
from gpugraph.ops.state import assign, assign_add, assign_sub
from gpugraph.ops.string_hashes import (
    string_to_hash_bucket, string_to_hash_bucket_fast, string_to_hash_bucket_strong,
)
from gpugraph.ops.string_joining import reduce_join, string_join
from gpugraph.ops.string_numbers import as_string, string_to_number
from gpugraph.ops.string_splitting import string_split
from gpugraph.ops.strings import decode_base64, encode_base64, string_strip, substr
from gpugraph.ops.tensor_array import TensorArray
from gpugraph.ops.unary_functions import (
    abs, ceil, cos, erf, exp, expm1, floor, is_finite, is_inf, is_nan, log, log1p, negative,
    reciprocal, rint, round, rsqrt, sigmoid, sign, sin, sqrt, square, tan, tanh,
)

__all__ = [
    "Attr", "HostOnly", "NO_GRADIENT", "Print", "SparseTensor", "SparseTensorValue", "TensorArray",
    "abs", "accumulate_n", "acos", "acosh", "add", "add_check_numerics_ops", "add_n", "angle",
    "arg_max", "arg_min", "argmax", "argmin", "argsort", "as_string", "asin", "asinh",
    "assert_equal", "assert_greater", "assert_greater_equal", "assert_integer", "assert_less",
    "assert_less_equal", "assert_near", "assert_negative", "assert_non_negative",
    "assert_non_positive", "assert_none_equal", "assert_positive", "assert_proper_iterable",
    "assert_rank", "assert_rank_at_least", "assert_rank_in", "assert_same_float_dtype",
    "assert_scalar", "assert_type", "assign", "assign_add", "assign_sub", "atan", "atan2", "atanh",
    "batch_gather", "batch_scatter_update", "batch_to_space", "batch_to_space_nd", "betainc",
    "bincount", "bitcast", "boolean_mask", "broadcast_dynamic_shape", "broadcast_static_shape",
    "broadcast_to", "cast", "ceil", "check_numerics", "cholesky", "cholesky_solve",
    "clip_by_average_norm", "clip_by_global_norm", "clip_by_norm", "clip_by_value", "complex",
    "concat", "confusion_matrix", "conj", "constant", "constant_initializer", "convert_to_tensor",
    "convert_to_tensor_or_indexed_slices", "convert_to_tensor_or_sparse_tensor", "cos", "cosh",
    "count_nonzero", "count_up_to", "cross", "cumprod", "cumsum", "decode_base64", "decode_csv",
    "decode_raw",
    "depth_to_space", "diag", "diag_part", "digamma", "div", "div_no_nan", "divide",
    "dynamic_partition", "dynamic_stitch", "edit_distance", "einsum", "encode_base64",
    "ensure_shape", "equal", "erf", "erfc", "exp", "expand_dims", "expm1", "extract_image_patches",
    "extract_volume_patches",
    "eye", "fake_quant_with_min_max_args", "fake_quant_with_min_max_args_gradient",
    "fake_quant_with_min_max_vars", "fake_quant_with_min_max_vars_gradient",
    "fake_quant_with_min_max_vars_per_channel",
    "fake_quant_with_min_max_vars_per_channel_gradient", "fft", "fft2d", "fft3d", "fill",
    "fingerprint", "floor", "floor_div", "floordiv", "floormod", "gather", "gather_nd",
    "global_norm", "glorot_normal_initializer", "glorot_uniform_initializer", "greater",
    "greater_equal", "group", "guarantee_const", "histogram_fixed_width",
    "histogram_fixed_width_bins", "identity", "identity_n", "ifft", "ifft2d", "ifft3d", "igamma",
    "igammac", "imag", "invert_permutation", "is_finite", "is_inf", "is_nan", "is_non_decreasing",
    "is_numeric_tensor", "is_strictly_increasing", "lbeta", "less", "less_equal", "lgamma",
    "lin_space", "linspace", "log", "log1p", "log_sigmoid", "logical_and", "logical_not",
    "logical_or", "logical_xor", "matching_files", "matmul", "matrix_band_part",
    "matrix_determinant", "matrix_diag", "matrix_diag_part", "matrix_inverse", "matrix_set_diag",
    "matrix_solve", "matrix_solve_ls", "matrix_square_root", "matrix_transpose",
    "matrix_triangular_solve", "maximum", "meshgrid", "minimum", "mod", "multinomial", "multiply",
    "negative", "newaxis", "no_op", "norm", "not_equal", "numpy_function", "one_hot", "ones",
    "ones_initializer", "ones_like", "orthogonal_initializer", "pad", "parallel_stack",
    "placeholder", "placeholder_with_default", "polygamma", "pow", "print", "py_func", "qr",
    "random_crop", "random_gamma", "random_normal", "random_normal_initializer", "random_poisson",
    "random_shuffle", "random_uniform", "random_uniform_initializer", "range", "rank", "raw_ops",
    "read_file", "real", "realdiv", "reciprocal", "reduce_all", "reduce_any", "reduce_join",
    "reduce_logsumexp", "reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_sum",
    "regex_replace", "register_kernel", "register_op", "register_tensor_conversion_function",
    "repeat", "required_space_to_batch_paddings", "reshape", "reverse", "reverse_sequence",
    "reverse_v2", "rint", "roll", "round", "rsqrt", "saturate_cast", "scalar_mul", "scatter_add",
    "scatter_div", "scatter_max", "scatter_min", "scatter_mul", "scatter_nd", "scatter_nd_add",
    "scatter_nd_sub", "scatter_nd_update", "scatter_sub", "scatter_update", "searchsorted",
    "segment_max", "segment_mean", "segment_min", "segment_prod", "segment_sum",
    "self_adjoint_eig", "self_adjoint_eigvals", "sequence_mask", "set_random_seed", "setdiff1d",
    "shape", "shape_n", "sigmoid", "sign", "sin", "sinh", "size", "slice", "sort",
    "space_to_batch", "space_to_batch_nd", "space_to_depth", "sparse_add", "sparse_concat",
    "sparse_fill_empty_rows", "sparse_mask", "sparse_maximum", "sparse_merge", "sparse_minimum",
    "sparse_placeholder", "sparse_reduce_max", "sparse_reduce_max_sparse", "sparse_reduce_sum",
    "sparse_reduce_sum_sparse", "sparse_reorder", "sparse_reset_shape", "sparse_reshape",
    "sparse_retain", "sparse_segment_mean", "sparse_segment_sqrt_n", "sparse_segment_sum",
    "sparse_slice", "sparse_softmax", "sparse_split", "sparse_tensor_dense_matmul",
    "sparse_tensor_to_dense", "sparse_to_dense", "sparse_to_indicator", "sparse_transpose",
    "split", "sqrt", "square", "squared_difference", "squeeze", "stack", "stop_gradient",
    "strided_slice", "string_join", "string_split", "string_strip", "string_to_hash_bucket",
    "string_to_hash_bucket_fast", "string_to_hash_bucket_strong", "string_to_number", "substr",
    "subtract", "svd", "tan", "tanh", "tensor_scatter_add", "tensor_scatter_nd_add",
    "tensor_scatter_nd_max", "tensor_scatter_nd_min", "tensor_scatter_nd_sub",
    "tensor_scatter_nd_update", "tensor_scatter_sub", "tensor_scatter_update", "tensordot", "tile",
    "timestamp", "to_bfloat16", "to_complex128", "to_complex64", "to_double", "to_float",
    "to_int32", "to_int64", "trace", "transpose", "truediv", "truncated_normal",
    "truncated_normal_initializer", "truncatediv", "truncatemod", "tuple",
    "uniform_unit_scaling_initializer", "unique", "unique_with_counts", "unravel_index",
    "unsorted_segment_max", "unsorted_segment_mean", "unsorted_segment_min",
    "unsorted_segment_prod", "unsorted_segment_sqrt_n", "unsorted_segment_sum", "unstack",
    "variance_scaling_initializer", "verify_tensor_all_finite", "where", "where_v2", "write_file",
    "zeros", "zeros_initializer", "zeros_like", "zeta",
]
