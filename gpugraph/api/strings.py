"""Strings: joined, cut, searched, hashed, read as numbers and written from them."""

from gpugraph.ops.strings.hash_buckets import string_to_hash_bucket as to_hash_bucket
from gpugraph.ops.strings.hash_buckets import string_to_hash_bucket_fast as to_hash_bucket_fast
from gpugraph.ops.strings.hash_buckets import string_to_hash_bucket_strong as to_hash_bucket_strong
from gpugraph.ops.strings.regex import regex_full_match, regex_replace
from gpugraph.ops.strings.string_format import string_format as format
from gpugraph.ops.strings.string_join import reduce_join, unsorted_segment_join
from gpugraph.ops.strings.string_join import string_join as join
from gpugraph.ops.strings.string_ops import string_length as length
from gpugraph.ops.strings.string_ops import string_lower as lower
from gpugraph.ops.strings.string_ops import string_strip as strip
from gpugraph.ops.strings.string_ops import string_upper as upper
from gpugraph.ops.strings.string_ops import substr
from gpugraph.ops.strings.string_split import split
from gpugraph.ops.strings.string_to_number import as_string
from gpugraph.ops.strings.string_to_number import string_to_number as to_number
from gpugraph.ops.strings.unicode_transcode import unicode_transcode

__all__ = [
    "as_string",
    "format",
    "join",
    "length",
    "lower",
    "reduce_join",
    "regex_full_match",
    "regex_replace",
    "split",
    "strip",
    "substr",
    "to_hash_bucket",
    "to_hash_bucket_fast",
    "to_hash_bucket_strong",
    "to_number",
    "unicode_transcode",
    "unsorted_segment_join",
    "upper",
]
