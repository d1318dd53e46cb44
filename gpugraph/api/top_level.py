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
from gpugraph.api.math import (
    accumulate_n, acos, acosh, angle, asin, asinh, atan, atan2, atanh, betainc, bincount,
    confusion_matrix, cosh, count_nonzero, digamma, erfc, igamma, igammac, imag, lbeta, lgamma,
    log_sigmoid, polygamma, real, scalar_mul, segment_max, segment_mean, segment_min,
    segment_prod, segment_sum, sinh, unsorted_segment_max, unsorted_segment_mean,
    unsorted_segment_min, unsorted_segment_prod, unsorted_segment_sqrt_n, unsorted_segment_sum,
    zeta,
)
from gpugraph.ops.reductions.argmax_and_argmin import argmax, argmin
from gpugraph.ops.elementwise.arithmetic_functions import (
    add, add_n, div, div_no_nan, divide, floor_div, floordiv, floormod, maximum, minimum, mod,
    multiply, pow, squared_difference, subtract, truediv, truncatediv, truncatemod,
)
from gpugraph.ops.indexing.batch_gather_and_repeat import (
    arg_max, arg_min, batch_gather, bitcast, realdiv, repeat, saturate_cast, to_complex128,
    to_complex64,
)
from gpugraph.ops.arrays.reshape_and_transpose import (
    broadcast_to, expand_dims, invert_permutation, reshape, reverse, reverse as reverse_v2,
    squeeze, transpose,
)
from gpugraph.ops.framework.identity_and_shape import (
    identity, rank, shape, shape_n, size, stop_gradient,
)
from gpugraph.ops.arrays.cast import cast, to_bfloat16, to_double, to_float, to_int32, to_int64
from gpugraph.ops.reductions.clip_by_norm import (
    clip_by_average_norm, clip_by_global_norm, clip_by_norm, clip_by_value, global_norm,
)
from gpugraph.ops.files.decode_csv import decode_csv
from gpugraph.ops.elementwise.complex_conjugate import conj
from gpugraph.ops.elementwise.complex_parts import complex
from gpugraph.ops.arrays.constants_and_placeholders import (
    fill, ones, ones_like, placeholder, placeholder_with_default, zeros, zeros_like,
)
from gpugraph.ops.control.group_and_no_op import group, no_op, tuple
from gpugraph.ops.framework.tensor_conversion import (
    constant, convert_to_tensor, register_tensor_conversion_function,
)
from gpugraph.ops.state.count_up_to import count_up_to
from gpugraph.ops.framework.op_declaration import Attr, NO_GRADIENT, raw_ops, register_op
from gpugraph.ops.linalg.matrix_diagonals_v2 import matrix_diag, matrix_diag_part, matrix_set_diag
from gpugraph.ops.indexing.dynamic_partition import dynamic_partition
from gpugraph.ops.strings.edit_distance import edit_distance
from gpugraph.ops.linalg.einsum import einsum
from gpugraph.ops.linalg.svd_qr_eigh import qr, self_adjoint_eig, self_adjoint_eigvals, svd
from gpugraph.ops.elementwise.fake_quantization import (
    fake_quant_with_min_max_args, fake_quant_with_min_max_args_gradient,
    fake_quant_with_min_max_vars, fake_quant_with_min_max_vars_gradient,
    fake_quant_with_min_max_vars_per_channel, fake_quant_with_min_max_vars_per_channel_gradient,
)
from gpugraph.ops.files.read_and_write_file import matching_files, read_file, write_file
from gpugraph.ops.signal.fourier_transforms import fft, fft2d, fft3d, ifft, ifft2d, ifft3d
from gpugraph.ops.indexing.gather import boolean_mask, gather
from gpugraph.ops.arrays.masks_and_coordinates import (
    broadcast_dynamic_shape, broadcast_static_shape, meshgrid, sequence_mask, unravel_index,
)
from gpugraph.ops.strings.fingerprint_and_guarantee import (
    fingerprint, guarantee_const, parallel_stack, timestamp,
)
from gpugraph.ops.reductions.histograms import histogram_fixed_width, histogram_fixed_width_bins
from gpugraph.ops.arrays.identity_n import identity_n
from gpugraph.ops.arrays.indexed_slices_to_tensor import convert_to_tensor_or_indexed_slices
from gpugraph.ops.random.variable_initializers import (
    Constant as constant_initializer, GlorotNormal as glorot_normal_initializer, GlorotUniform
    as glorot_uniform_initializer, Ones as ones_initializer, Orthogonal as
    orthogonal_initializer, RandomNormal as random_normal_initializer, RandomUniform as
    random_uniform_initializer, TruncatedNormal as truncated_normal_initializer,
    UniformUnitScaling as uniform_unit_scaling_initializer, VarianceScaling as
    variance_scaling_initializer, Zeros as zeros_initializer,
)
from gpugraph.ops.arrays.concat_and_stack import concat, stack
from gpugraph.ops.framework.kernel_registry import HostOnly, register_kernel
from gpugraph.ops.linalg.matmul import matmul, matrix_transpose, tensordot
from gpugraph.ops.linalg.cross_product import cross
from gpugraph.ops.linalg.matrix_compositions import (
    cholesky_solve, eye, matrix_solve_ls, norm, trace,
)
from gpugraph.ops.elementwise.comparison_and_select import (
    equal, greater, greater_equal, less, less_equal, logical_and, logical_not, logical_or,
    logical_xor, not_equal, where, where_v2,
)
from gpugraph.ops.linalg.matrix_exponential import matrix_square_root
from gpugraph.ops.linalg.matrix_diag_and_band import diag, diag_part, matrix_band_part
from gpugraph.ops.debugging.check_numerics import check_numerics
from gpugraph.ops.indexing.sort_and_search import argsort, roll, searchsorted, sort
from gpugraph.ops.arrays.tile_and_pad import pad, tile
from gpugraph.ops.image.extract_patches import extract_image_patches, extract_volume_patches
from gpugraph.ops.strings.print_ops import Print, print
from gpugraph.ops.random.random_ops import (
    random_normal, random_uniform, set_random_seed, truncated_normal,
)
from gpugraph.ops.random.multinomial_and_shuffle import multinomial, random_crop, random_shuffle
from gpugraph.ops.random.gamma_and_poisson import random_gamma, random_poisson
from gpugraph.ops.files.decode_raw import decode_raw
from gpugraph.ops.reductions.reduction_functions import (
    reduce_all, reduce_any, reduce_logsumexp, reduce_max, reduce_mean, reduce_min, reduce_prod,
    reduce_sum,
)
from gpugraph.ops.strings.regex import regex_replace
from gpugraph.ops.arrays.reverse_sequence import reverse_sequence
from gpugraph.ops.state.scatter_updates import (
    batch_scatter_update, scatter_add, scatter_div, scatter_max, scatter_min, scatter_mul,
    scatter_nd_add, scatter_nd_sub, scatter_nd_update, scatter_sub, scatter_update,
)
from gpugraph.ops.indexing.coordinate_gather_scatter import (
    gather_nd, scatter_nd, tensor_scatter_add, tensor_scatter_add as tensor_scatter_nd_add,
    tensor_scatter_sub as tensor_scatter_nd_sub, tensor_scatter_update as
    tensor_scatter_nd_update, tensor_scatter_max as tensor_scatter_nd_max, tensor_scatter_min as
    tensor_scatter_nd_min, tensor_scatter_sub, tensor_scatter_update,
)
from gpugraph.ops.control.py_func import numpy_function, py_func
from gpugraph.ops.indexing.one_hot_where_unique import (
    dynamic_stitch, lin_space, linspace, one_hot, unique,
)
from gpugraph.ops.reductions.ranges_and_running_sums import cumprod, cumsum, range
from gpugraph.ops.indexing.unique_counts_and_list_diff import setdiff1d, unique_with_counts
from gpugraph.ops.debugging.ensure_shape import ensure_shape
from gpugraph.ops.indexing.strided_slice import newaxis, slice, strided_slice
from gpugraph.ops.linalg.solve_and_cholesky import (
    cholesky, matrix_determinant, matrix_inverse, matrix_solve, matrix_triangular_solve,
)
from gpugraph.ops.sparse.sparse_functions import (
    sparse_add, sparse_concat, sparse_fill_empty_rows, sparse_maximum, sparse_minimum,
    sparse_reorder, sparse_reshape, sparse_retain, sparse_slice, sparse_softmax, sparse_split,
    sparse_tensor_dense_matmul, sparse_tensor_to_dense, sparse_to_dense, sparse_to_indicator,
    sparse_transpose,
)
from gpugraph.ops.sparse.sparse_reduce import (
    sparse_reduce_max, sparse_reduce_max_sparse, sparse_reduce_sum, sparse_reduce_sum_sparse,
)
from gpugraph.ops.segments.sparse_segment_sum import (
    sparse_segment_mean, sparse_segment_sqrt_n, sparse_segment_sum,
)
from gpugraph.ops.sparse.sparse_mask_and_merge import sparse_mask, sparse_merge, sparse_reset_shape
from gpugraph.ops.sparse.sparse_tensor import (
    SparseTensor, SparseTensorValue, convert_to_tensor_or_sparse_tensor, sparse_placeholder,
)
from gpugraph.ops.arrays.space_to_batch_and_depth import (
    batch_to_space, batch_to_space_nd, depth_to_space, space_to_batch, space_to_batch_nd,
    space_to_depth,
)
from gpugraph.ops.nn.convolution.with_space_to_batch import required_space_to_batch_paddings
from gpugraph.ops.arrays.split_and_unstack import split, unstack
from gpugraph.ops.state.reference_variable_ops import assign, assign_add, assign_sub
from gpugraph.ops.strings.hash_buckets import (
    string_to_hash_bucket, string_to_hash_bucket_fast, string_to_hash_bucket_strong,
)
from gpugraph.ops.strings.string_join import reduce_join, string_join
from gpugraph.ops.strings.string_to_number import as_string, string_to_number
from gpugraph.ops.strings.string_split import string_split
from gpugraph.ops.strings.string_ops import decode_base64, encode_base64, string_strip, substr
from gpugraph.ops.tensor_arrays.tensor_array import TensorArray
from gpugraph.ops.elementwise.unary_functions import (
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
