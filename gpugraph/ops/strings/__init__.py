"""Strings, and what prints."""

from gpugraph.ops.strings import (
    edit_distance,
    hash_algorithms,
    hash_buckets,
    print_ops,
    regex,
    sparse_cross,
    string_format,
    string_join,
    string_ops,
    string_split,
    string_to_number,
    tensor_formatting,
    unicode_transcode,
)
