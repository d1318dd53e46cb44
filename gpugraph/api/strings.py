"""Strings: joining, splitting, searching, hashing, and conversion to and from numbers."""

from gpugraph.ops.strings.regex import (
    regex_full_match as regex_full_match, regex_replace as regex_replace,
)
from gpugraph.ops.strings.string_join import (
    reduce_join as reduce_join, unsorted_segment_join as unsorted_segment_join,
)
from gpugraph.ops.strings.string_ops import substr as substr
from gpugraph.ops.strings.string_split import split as split
from gpugraph.ops.strings.string_to_number import as_string as as_string
from gpugraph.ops.strings.unicode_transcode import unicode_transcode as unicode_transcode
from gpugraph.ops.strings import hash_buckets as _hash_buckets
from gpugraph.ops.strings import string_format as _string_format
from gpugraph.ops.strings import string_join as _string_join
from gpugraph.ops.strings import string_ops as _string_ops
from gpugraph.ops.strings import string_to_number as _string_to_number

format = _string_format.string_format
join = _string_join.string_join
length = _string_ops.string_length
lower = _string_ops.string_lower
strip = _string_ops.string_strip
to_hash_bucket = _hash_buckets.string_to_hash_bucket
to_hash_bucket_fast = _hash_buckets.string_to_hash_bucket_fast
to_hash_bucket_strong = _hash_buckets.string_to_hash_bucket_strong
to_number = _string_to_number.string_to_number
upper = _string_ops.string_upper
