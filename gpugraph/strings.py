"""Strings: joined, cut, searched, hashed, read as numbers and written from them."""

from gpugraph.ops.regular_expressions import regex_full_match, regex_replace
from gpugraph.ops.string_formats import string_format as format
from gpugraph.ops.string_hashes import string_to_hash_bucket as to_hash_bucket
from gpugraph.ops.string_hashes import string_to_hash_bucket_fast as to_hash_bucket_fast
from gpugraph.ops.string_hashes import string_to_hash_bucket_strong as to_hash_bucket_strong
from gpugraph.ops.string_joining import reduce_join, unsorted_segment_join
from gpugraph.ops.string_joining import string_join as join
from gpugraph.ops.string_numbers import as_string
from gpugraph.ops.string_numbers import string_to_number as to_number
from gpugraph.ops.string_splitting import split
from gpugraph.ops.strings import string_length as length
from gpugraph.ops.strings import string_lower as lower
from gpugraph.ops.strings import string_strip as strip
from gpugraph.ops.strings import string_upper as upper
from gpugraph.ops.strings import substr
from gpugraph.ops.unicode import unicode_transcode

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
