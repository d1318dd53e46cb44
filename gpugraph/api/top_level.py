"""The functions at the top level of `tf`, which create ops."""

from gpugraph.api.manip import *
from gpugraph.api.quantization import *
from gpugraph.api.shared.shared_checks import *
from gpugraph.api.shared.shared_math import *
from gpugraph.api.shared.shared_parsing import *
from gpugraph.building.checks import (
    add_check_numerics_ops as add_check_numerics_ops,
    verify_tensor_all_finite as verify_tensor_all_finite,
)
from gpugraph.ops.reductions.argmax_and_argmin import arg_max as arg_max, arg_min as arg_min
from gpugraph.ops.elementwise.division import (
    div as div, div_no_nan as div_no_nan, floor_div as floor_div, realdiv as realdiv,
    truncatediv as truncatediv, truncatemod as truncatemod,
)
from gpugraph.ops.indexing.batch_gather_and_repeat import (
    batch_gather as batch_gather, repeat as repeat,
)
from gpugraph.ops.arrays.bitcast import bitcast as bitcast
from gpugraph.ops.arrays.parallel_stack import parallel_stack as parallel_stack
from gpugraph.ops.arrays.reshape_and_transpose import (
    broadcast_to as broadcast_to, expand_dims as expand_dims, squeeze as squeeze,
    transpose as transpose,
)
from gpugraph.ops.framework.identity_and_shape import (
    identity as identity, rank as rank, shape as shape, shape_n as shape_n, size as size,
    stop_gradient as stop_gradient,
)
from gpugraph.ops.arrays.cast import (
    cast as cast, saturate_cast as saturate_cast, to_bfloat16 as to_bfloat16,
    to_complex128 as to_complex128, to_complex64 as to_complex64, to_double as to_double,
    to_float as to_float, to_int32 as to_int32, to_int64 as to_int64,
)
from gpugraph.ops.reductions.clip_by_norm import (
    clip_by_average_norm as clip_by_average_norm, clip_by_global_norm as clip_by_global_norm,
    clip_by_norm as clip_by_norm, clip_by_value as clip_by_value, global_norm as global_norm,
)
from gpugraph.ops.files.decode_compressed import decode_compressed as decode_compressed
from gpugraph.ops.files.decode_csv import decode_csv as decode_csv
from gpugraph.ops.elementwise.complex_parts import complex as complex
from gpugraph.ops.arrays.constants_and_placeholders import (
    fill as fill, ones as ones, ones_like as ones_like, placeholder as placeholder,
    placeholder_with_default as placeholder_with_default, zeros as zeros, zeros_like as zeros_like,
)
from gpugraph.ops.control.group_and_no_op import group as group, no_op as no_op, tuple as tuple
from gpugraph.ops.framework.tensor_conversion import (
    constant as constant, convert_to_tensor as convert_to_tensor,
    register_tensor_conversion_function as register_tensor_conversion_function,
)
from gpugraph.formats.tensor_proto import make_ndarray as make_ndarray
from gpugraph.ops.framework.make_tensor_proto import make_tensor_proto as make_tensor_proto
from gpugraph.building.graph_files.import_graph_def import import_graph_def as import_graph_def
from gpugraph.building.variables.module import Module as Module
from gpugraph.platform.logging import get_logger as get_logger
from gpugraph.ops.state.count_up_to import count_up_to as count_up_to
from gpugraph.ops.state.session_tensors import (
    delete_session_tensor as delete_session_tensor, get_session_handle as get_session_handle,
    get_session_tensor as get_session_tensor,
)
from gpugraph.ops.framework.op_declaration import (
    Attr as Attr, NO_GRADIENT as NO_GRADIENT, raw_ops as raw_ops, register_op as register_op,
)
from gpugraph.ops.elementwise.quantization_ops import (
    dequantize as dequantize, quantize_v2 as quantize_v2,
)
from gpugraph.ops.linalg.sparse_matmul import sparse_matmul as sparse_matmul
from gpugraph.ops.linalg.matrix_diagonals_v2 import (
    matrix_diag as matrix_diag, matrix_diag_part as matrix_diag_part,
    matrix_set_diag as matrix_set_diag,
)
from gpugraph.ops.indexing.dynamic_partition import dynamic_partition as dynamic_partition
from gpugraph.ops.strings.edit_distance import edit_distance as edit_distance
from gpugraph.ops.linalg.einsum import einsum as einsum
from gpugraph.ops.linalg.svd_qr_eigh import (
    qr as qr, self_adjoint_eig as self_adjoint_eig, self_adjoint_eigvals as self_adjoint_eigvals,
    svd as svd,
)
from gpugraph.ops.files.read_and_write_file import (
    matching_files as matching_files, read_file as read_file, write_file as write_file,
)
from gpugraph.ops.signal.fourier_transforms import (
    fft as fft, fft2d as fft2d, fft3d as fft3d, ifft as ifft, ifft2d as ifft2d, ifft3d as ifft3d,
)
from gpugraph.ops.indexing.gather import boolean_mask as boolean_mask, gather as gather
from gpugraph.ops.arrays.masks_and_coordinates import (
    broadcast_dynamic_shape as broadcast_dynamic_shape,
    broadcast_static_shape as broadcast_static_shape, meshgrid as meshgrid,
    sequence_mask as sequence_mask, unravel_index as unravel_index,
)
from gpugraph.ops.reductions.histograms import (
    histogram_fixed_width as histogram_fixed_width,
    histogram_fixed_width_bins as histogram_fixed_width_bins,
)
from gpugraph.ops.arrays.identity_n import (
    guarantee_const as guarantee_const, identity_n as identity_n,
)
from gpugraph.ops.arrays.indexed_slices_to_tensor import (
    convert_to_tensor_or_indexed_slices as convert_to_tensor_or_indexed_slices,
)
from gpugraph.ops.arrays.concat_and_stack import (
    concat as concat, stack as stack,
)
from gpugraph.ops.framework.kernel_registry import (
    HostOnly as HostOnly, register_kernel as register_kernel,
)
from gpugraph.ops.linalg.matmul import (
    matmul as matmul, matrix_transpose as matrix_transpose,
)
from gpugraph.ops.linalg.tensordot import tensordot as tensordot
from gpugraph.ops.linalg.cross_product import cross as cross
from gpugraph.ops.linalg.matrix_compositions import (
    cholesky_solve as cholesky_solve, eye as eye, matrix_solve_ls as matrix_solve_ls, norm as norm,
    trace as trace,
)
from gpugraph.ops.elementwise.comparison_and_select import where as where, where_v2 as where_v2
from gpugraph.ops.linalg.matrix_exponential import matrix_square_root as matrix_square_root
from gpugraph.ops.linalg.matrix_diag_and_band import (
    diag as diag, diag_part as diag_part, matrix_band_part as matrix_band_part,
)
from gpugraph.ops.indexing.sort_and_search import (
    argsort as argsort, searchsorted as searchsorted, sort as sort,
)
from gpugraph.ops.arrays.tile_and_pad import pad as pad
from gpugraph.ops.image.extract_patches import (
    extract_image_patches as extract_image_patches,
    extract_volume_patches as extract_volume_patches,
)
from gpugraph.ops.strings.print_ops import Print as Print, print as print
from gpugraph.ops.random.random_ops import (
    random_normal as random_normal, random_uniform as random_uniform,
    set_random_seed as set_random_seed, truncated_normal as truncated_normal,
)
from gpugraph.ops.random.multinomial_and_shuffle import (
    multinomial as multinomial, random_crop as random_crop, random_shuffle as random_shuffle,
)
from gpugraph.ops.random.gamma_and_poisson import (
    random_gamma as random_gamma, random_poisson as random_poisson,
)
from gpugraph.ops.files.decode_raw import decode_raw as decode_raw
from gpugraph.ops.strings.regex import regex_replace as regex_replace
from gpugraph.ops.arrays.reverse_sequence import reverse_sequence as reverse_sequence
from gpugraph.ops.state.scatter_updates import (
    batch_scatter_update as batch_scatter_update, scatter_add as scatter_add,
    scatter_div as scatter_div, scatter_max as scatter_max, scatter_min as scatter_min,
    scatter_mul as scatter_mul, scatter_nd_add as scatter_nd_add, scatter_nd_sub as scatter_nd_sub,
    scatter_nd_update as scatter_nd_update, scatter_sub as scatter_sub,
    scatter_update as scatter_update,
)
from gpugraph.ops.indexing.tensor_scatter import (
    tensor_scatter_add as tensor_scatter_add, tensor_scatter_sub as tensor_scatter_sub,
    tensor_scatter_update as tensor_scatter_update,
)
from gpugraph.building.function_calls.polymorphic_function import function as function
from gpugraph.building.function_calls.wrapped_function import wrap_function as wrap_function
from gpugraph.building.function_calls.python_function_ops import py_function as py_function
from gpugraph.ops.control.py_func import numpy_function as numpy_function, py_func as py_func
from gpugraph.ops.indexing.one_hot_where_unique import (
    dynamic_stitch as dynamic_stitch, lin_space as lin_space, linspace as linspace,
    one_hot as one_hot, unique as unique,
)
from gpugraph.ops.reductions.ranges_and_running_sums import range as range
from gpugraph.ops.indexing.unique_counts_and_list_diff import (
    setdiff1d as setdiff1d, unique_with_counts as unique_with_counts,
)
from gpugraph.ops.debugging.ensure_shape import ensure_shape as ensure_shape
from gpugraph.ops.debugging.timestamp import timestamp as timestamp
from gpugraph.ops.indexing.strided_slice import (
    newaxis as newaxis, slice as slice, strided_slice as strided_slice,
)
from gpugraph.ops.linalg.solve_and_cholesky import (
    cholesky as cholesky, matrix_determinant as matrix_determinant,
    matrix_inverse as matrix_inverse, matrix_solve as matrix_solve,
    matrix_triangular_solve as matrix_triangular_solve,
)
from gpugraph.ops.sparse.sparse_functions import (
    sparse_add as sparse_add, sparse_concat as sparse_concat,
    sparse_fill_empty_rows as sparse_fill_empty_rows, sparse_maximum as sparse_maximum,
    sparse_minimum as sparse_minimum, sparse_reorder as sparse_reorder,
    sparse_reshape as sparse_reshape, sparse_retain as sparse_retain, sparse_slice as sparse_slice,
    sparse_softmax as sparse_softmax, sparse_split as sparse_split,
    sparse_tensor_dense_matmul as sparse_tensor_dense_matmul,
    sparse_tensor_to_dense as sparse_tensor_to_dense, sparse_to_dense as sparse_to_dense,
    sparse_to_indicator as sparse_to_indicator, sparse_transpose as sparse_transpose,
)
from gpugraph.ops.sparse.sparse_reduce import (
    sparse_reduce_max as sparse_reduce_max, sparse_reduce_max_sparse as sparse_reduce_max_sparse,
    sparse_reduce_sum as sparse_reduce_sum, sparse_reduce_sum_sparse as sparse_reduce_sum_sparse,
)
from gpugraph.ops.segments.sparse_segment_sum import (
    sparse_segment_mean as sparse_segment_mean, sparse_segment_sqrt_n as sparse_segment_sqrt_n,
    sparse_segment_sum as sparse_segment_sum,
)
from gpugraph.ops.sparse.sparse_mask_and_merge import (
    sparse_mask as sparse_mask, sparse_merge as sparse_merge,
    sparse_reset_shape as sparse_reset_shape,
)
from gpugraph.ops.sparse.sparse_tensor import (
    SparseTensor as SparseTensor, SparseTensorValue as SparseTensorValue,
    convert_to_tensor_or_sparse_tensor as convert_to_tensor_or_sparse_tensor,
    sparse_placeholder as sparse_placeholder,
)
from gpugraph.ops.arrays.space_to_batch_and_depth import (
    batch_to_space as batch_to_space, depth_to_space as depth_to_space,
    space_to_batch as space_to_batch, space_to_depth as space_to_depth,
)
from gpugraph.ops.nn.windows.with_space_to_batch import (
    required_space_to_batch_paddings as required_space_to_batch_paddings,
)
from gpugraph.ops.arrays.split_and_unstack import split as split, unstack as unstack
from gpugraph.ops.state.reference_variable_ops import (
    assign as assign, assign_add as assign_add, assign_sub as assign_sub,
)
from gpugraph.ops.strings.hash_buckets import (
    fingerprint as fingerprint,
    string_to_hash_bucket as string_to_hash_bucket,
    string_to_hash_bucket_fast as string_to_hash_bucket_fast,
    string_to_hash_bucket_strong as string_to_hash_bucket_strong,
)
from gpugraph.ops.strings.string_join import reduce_join as reduce_join, string_join as string_join
from gpugraph.ops.strings.string_to_number import (
    as_string as as_string, string_to_number as string_to_number,
)
from gpugraph.ops.strings.string_split import string_split as string_split
from gpugraph.ops.strings.string_ops import (
    decode_base64 as decode_base64, encode_base64 as encode_base64, string_strip as string_strip,
    substr as substr,
)
from gpugraph.api.shared.queue import *
from gpugraph.ops.queues.accumulator_classes import (
    ConditionalAccumulator as ConditionalAccumulator,
    ConditionalAccumulatorBase as ConditionalAccumulatorBase,
    SparseConditionalAccumulator as SparseConditionalAccumulator,
)
from gpugraph.ops.readers.reader_classes import (
    FixedLengthRecordReader as FixedLengthRecordReader, IdentityReader as IdentityReader,
    ReaderBase as ReaderBase, TextLineReader as TextLineReader, TFRecordReader as TFRecordReader,
    WholeFileReader as WholeFileReader,
)
from gpugraph.ops.tensor_arrays.tensor_array import TensorArray as TensorArray
from gpugraph.ops.indexing import tensor_scatter as _tensor_scatter
from gpugraph.ops.random import variable_initializers as _variable_initializers

constant_initializer = _variable_initializers.Constant
glorot_normal_initializer = _variable_initializers.GlorotNormal
glorot_uniform_initializer = _variable_initializers.GlorotUniform
ones_initializer = _variable_initializers.Ones
orthogonal_initializer = _variable_initializers.Orthogonal
random_normal_initializer = _variable_initializers.RandomNormal
random_uniform_initializer = _variable_initializers.RandomUniform
reverse_v2 = reverse
tensor_scatter_nd_add = tensor_scatter_add
tensor_scatter_nd_max = _tensor_scatter.tensor_scatter_max
tensor_scatter_nd_min = _tensor_scatter.tensor_scatter_min
tensor_scatter_nd_sub = tensor_scatter_sub
tensor_scatter_nd_update = tensor_scatter_update
truncated_normal_initializer = _variable_initializers.TruncatedNormal
uniform_unit_scaling_initializer = _variable_initializers.UniformUnitScaling
variance_scaling_initializer = _variable_initializers.VarianceScaling
zeros_initializer = _variable_initializers.Zeros
