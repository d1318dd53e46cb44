"""Initializers that load a matrix from a checkpoint and reorder its rows and columns by
vocabularies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.dtypes import as_dtype
from gpugraph.base.named_function import with_parameters_of
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.constants_and_placeholders import zeros
from gpugraph.ops.files.vocabulary_remapping import generate_vocab_remapping, load_and_remap_matrix
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.random.variable_initializers import TruncatedNormal
from gpugraph.ops.reductions.ranges_and_running_sums import range as range_of


@dataclass(frozen=True)
class RemappedMatrix:
    """An initializer that reads a matrix. See `load_and_remap_matrix_initializer`."""

    ckpt_path: Any
    old_tensor_name: str
    """The name of the matrix, which is float32, in the checkpoint."""
    new_row_vocab_size: int
    new_col_vocab_size: int
    """The numbers of rows and columns, without the rows and columns of out-of-vocabulary buckets.
    """
    old_row_vocab_size: int = -1
    """The number of lines to read from the file of the old vocabulary; -1 means all."""
    old_row_vocab_file: Any = None
    new_row_vocab_file: Any = None
    old_col_vocab_file: Any = None
    new_col_vocab_file: Any = None
    """Text files with a word in each line; without them, rows or columns keep their positions."""
    num_row_oov_buckets: int = 0
    num_col_oov_buckets: int = 0
    initializer: Any = None
    max_rows_in_memory: int = -1

    def __call__(
        self, shape: Sequence[int], dtype: Any = dtypes.float32, partition_info: Any = None
    ) -> Any:
        """Return the matrix. For a partitioned variable, return the rows of the partition that
        `partition_info` describes.

        Raises TypeError if `dtype` is not float32, and ValueError if the shape does not fit the
        vocabulary sizes.
        """
        height, width = self._checked(shape, as_dtype(dtype))
        offset = partition_info.single_offset([height, width]) if partition_info else 0
        total = self.new_row_vocab_size + self.num_row_oov_buckets
        if offset + height > total:
            raise ValueError(
                f"Trying to initialize {height} additional rows after {offset} rows have already "
                "been initialized, which would exceed expected total row count of "
                f"new_row_vocab_size ({self.new_row_vocab_size}) + num_row_oov_buckets "
                f"({self.num_row_oov_buckets}) = {total}."
            )
        buckets = min(height, max(0, offset + height - self.new_row_vocab_size))
        if offset > self.new_row_vocab_size:
            return self._initial([height, width])
        loaded = self._load(offset, height - buckets)
        if buckets:
            loaded = concat([loaded, self._initial([buckets, self.new_col_vocab_size])], 0)
        if self.num_col_oov_buckets:
            loaded = concat([loaded, self._initial([height, self.num_col_oov_buckets])], 1)
        return loaded

    def _checked(self, shape: Sequence[int], dtype: Any) -> list[int]:
        """Check `dtype` and `shape`, and return [height, width]. Raises TypeError or ValueError if
        one is wrong.
        """
        sizes = [int(size) for size in shape]
        if dtype != dtypes.float32:
            raise TypeError(f"Currently, only float32 is supported. Received dtype: {dtype}")
        if len(sizes) != 2:
            raise ValueError(f"Expected 2-dim shape, but received: {sizes}")
        if sizes[0] <= 0:
            raise ValueError(f"Expected 1st dim of shape to be > 0, but received shape: {sizes}")
        width = self.new_col_vocab_size + self.num_col_oov_buckets
        if sizes[1] != width:
            raise ValueError(
                f"Expected 2nd dim of shape to be new_col_vocab_size ({self.new_col_vocab_size}) + "
                f"num_col_oov_buckets ({self.num_col_oov_buckets}) = {width}, but received shape: "
                f"{sizes}"
            )
        return sizes

    def _initial(self, shape: Any) -> Any:
        """Return initial values for elements that are not in the checkpoint."""
        return (zeros if self.initializer is None else self.initializer)(shape)

    def _load(self, offset: int, count: int) -> Any:
        """Return `count` rows of the new matrix, starting at row `offset`, without the bucket rows
        and columns.
        """
        rows, present_rows = self._remapping("row", offset, count)
        columns, present_columns = self._remapping("col", 0, self.new_col_vocab_size)
        if columns is None and not self.new_row_vocab_file:
            raise ValueError(
                "Must provide either row or column vocab files. If no remapping is necessary, "
                "consider using `tf.contrib.framework.init_from_checkpoint` instead."
            )
        missing = count * self.new_col_vocab_size - present_rows * present_columns
        return load_and_remap_matrix(
            self.ckpt_path,
            self.old_tensor_name,
            range_of(offset, offset + count, dtype=dtypes.int64) if rows is None else rows,
            convert_to_tensor([], dtypes.int64) if columns is None else columns,
            self._initial([missing, 1]),
            num_rows=count,
            num_cols=self.new_col_vocab_size,
            max_rows_in_memory=self.max_rows_in_memory,
        )

    def _remapping(self, kind: str, offset: int, count: int) -> Any:
        """Map `count` rows or columns of the new matrix to rows or columns of the checkpoint's
        matrix.

        Return two values: a tensor with each row's or column's position in the checkpoint, and how
        many of them the checkpoint contains. The tensor is None if rows or columns keep their
        positions.

        Args:
          kind: "row" or "col".
          offset: the first line of the new vocabulary to map.
        """
        old, new = (getattr(self, f"{age}_{kind}_vocab_file") for age in ("old", "new"))
        if bool(old) != bool(new):
            raise ValueError(
                f"old_{kind}_vocab_file and new_{kind}_vocab_file must both be specified or left "
                f"unspecified. old_{kind}_vocab_file='{old}', new_{kind}_vocab_file='{new}'"
            )
        if not old:
            return None, count
        size = self.old_row_vocab_size if kind == "row" else -1
        return generate_vocab_remapping(
            new, old, new_vocab_offset=offset, num_new_vocab=count, old_vocab_size=size
        )


@with_parameters_of(RemappedMatrix)
def load_and_remap_matrix_initializer(*args: Any, **options: Any) -> Callable[..., Any]:
    """Return an initializer that loads a matrix from a checkpoint and reorders it by vocabularies.

    Args:
      ckpt_path: the checkpoint.
      old_tensor_name: the name of the matrix, which is float32.
      new_row_vocab_size, new_col_vocab_size: the numbers of rows and columns without the buckets.
      old_row_vocab_size: the number of lines to read from the old row vocabulary. -1 means all
        lines.
      *_vocab_file: text files with one word per line. Without them, rows or columns keep their
        positions.
      num_row_oov_buckets, num_col_oov_buckets: the numbers of additional rows and columns, which
        are not loaded but filled by `initializer`.
      initializer: a function that receives a shape and returns the elements that the checkpoint
        lacks. By default, they are zeros.
      max_rows_in_memory: accepted for compatibility. The matrix is read as a whole.
    Raises:
      TypeError: `initializer` is not callable.
      ValueError: a number of buckets is negative. A call of the initializer also raises it if there
        are no vocabulary files, or if only one of the old and the new vocabulary is passed.
    """
    matrix = RemappedMatrix(*args, **options)
    if matrix.initializer is not None and not callable(matrix.initializer):
        raise TypeError(
            f"initializer must be callable, instead of being {matrix.initializer} of type "
            f"{type(matrix.initializer)}."
        )
    for name in ("num_row_oov_buckets", "num_col_oov_buckets"):
        if getattr(matrix, name) < 0:
            raise ValueError(f"{name} must be >= 0, but received {getattr(matrix, name)}")
    return matrix


def load_embedding_initializer(
    ckpt_path: Any,
    embedding_tensor_name: str,
    new_vocab_size: int,
    embedding_dim: int,
    old_vocab_file: Any,
    new_vocab_file: Any,
    old_vocab_size: int = -1,
    num_oov_buckets: int = 0,
    initializer: Any = None,
    max_rows_in_memory: int = -1,
) -> Callable[..., Any]:
    """Return an initializer that loads embeddings from a checkpoint and reorders them by
    vocabularies.

    The arguments have the meaning that they have in `load_and_remap_matrix_initializer`.

    Args:
      initializer: the initializer for words that the old vocabulary lacks, by default a truncated
        normal distribution with the standard deviation 1 / sqrt(embedding_dim).
    """
    if initializer is None:
        initializer = TruncatedNormal(stddev=1.0 / math.sqrt(embedding_dim))
    sizes = (new_vocab_size, embedding_dim, old_vocab_size)
    return load_and_remap_matrix_initializer(
        *(ckpt_path, embedding_tensor_name, *sizes, old_vocab_file, new_vocab_file),
        num_row_oov_buckets=num_oov_buckets,
        initializer=initializer,
        max_rows_in_memory=max_rows_in_memory,
    )
