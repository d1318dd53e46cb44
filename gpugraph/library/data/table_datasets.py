"""Datasets whose elements have columns: rows of CSV files, rows of SQLite queries, and batches of
parsed Examples.
"""

from __future__ import annotations

import csv
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import (
    DType,
    as_dtype,
    bool as bool_type,
    float32,
    float64,
    int32,
    int64,
    string,
)
from gpugraph.graph.client.tensor_spec import TensorSpec
from gpugraph.library.data.dataset_base import AUTOTUNE, DatasetBase, int64_tensor
from gpugraph.library.data.dataset_versions import DatasetV1, DatasetV2
from gpugraph.library.data.element_structure import flat_attrs
from gpugraph.library.data.experimental_transformations import Transformation, ignore_errors
from gpugraph.library.data.file_datasets import TFRecordDatasetV2
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.parsing.parsing_functions import parse_example
from gpugraph.platform.gfile_v2 import glob

_BUFFER = 4 * 1024 * 1024
_CSV_TYPES = (int32, int64, float32, float64, string)


class CsvDatasetV2(DatasetV2):
    """A dataset of the rows of CSV files, as tuples of scalars.

    Args:
      record_defaults: one item for each selected column: its default value, or its dtype if every
        row must have a value.
      select_cols: the columns to read, in ascending order; by default all columns.
    """

    def __init__(
        self, filenames: Any, record_defaults: Sequence[Any], compression_type: Any = None,
        buffer_size: Any = None, header: Any = False, field_delim: Any = ",",
        use_quote_delim: Any = True, na_value: Any = "", select_cols: Any = None,
    ) -> None:  # fmt: skip
        defaults = [_default(value) for value in record_defaults]
        spec = tuple(TensorSpec([], tensor.dtype) for tensor in defaults)
        chosen = np.array([] if select_cols is None else select_cols, np.int64)
        variant = raw_ops.CSVDataset(
            convert_to_tensor(filenames, dtype=string, name="filenames"),
            convert_to_tensor(compression_type or "", dtype=string, name="compression_type"),
            int64_tensor(_BUFFER if buffer_size is None else buffer_size, "buffer_size"),
            convert_to_tensor(header, dtype=bool_type, name="header"),
            convert_to_tensor(field_delim, dtype=string, name="field_delim"),
            convert_to_tensor(use_quote_delim, dtype=bool_type, name="use_quote_delim"),
            convert_to_tensor(na_value, dtype=string, name="na_value"),
            convert_to_tensor(chosen, name="select_cols"),
            defaults,
            output_shapes=flat_attrs(spec)["output_shapes"],
        )
        super().__init__(variant, spec)


class CsvDatasetV1(CsvDatasetV2, DatasetV1):
    """A dataset of the rows of CSV files, as tuples of scalars (see `CsvDatasetV2`)."""

    @classmethod
    def _plain_class(cls) -> type[DatasetBase]:
        return DatasetV1._plain_class()


def _default(value: Any) -> Any:
    """Return a default value as a tensor, which is empty for a dtype without a default value."""
    dtype: DType | None = None
    if isinstance(value, DType) or (isinstance(value, type) and issubclass(value, np.generic)):
        dtype = as_dtype(value)
        return convert_to_tensor(np.zeros([0], dtype.as_numpy_dtype), dtype=dtype)
    tensor = convert_to_tensor(value)
    if tensor.dtype not in _CSV_TYPES:
        raise TypeError(
            "Value passed to parameter 'record_defaults' has DataType "
            f"{tensor.dtype.name} not in list of allowed values: "
            f"{', '.join(one.name for one in _CSV_TYPES)}"
        )
    return tensor if tensor.shape.rank else raw_ops.Reshape(tensor, [1])


class SqlDatasetV2(DatasetV2):
    """A dataset of the rows that a query to a SQLite database returns, as tuples of scalars."""

    def __init__(
        self, driver_name: Any, data_source_name: Any, query: Any, output_types: Sequence[Any]
    ) -> None:
        spec = tuple(TensorSpec([], as_dtype(dtype)) for dtype in output_types)
        texts = {
            "driver_name": driver_name, "data_source_name": data_source_name, "query": query,
        }  # fmt: skip
        tensors = [convert_to_tensor(text, dtype=string, name=key) for key, text in texts.items()]
        super().__init__(raw_ops.SqlDataset(*tensors, **flat_attrs(spec)), spec)


class SqlDatasetV1(SqlDatasetV2, DatasetV1):
    """A dataset of the rows that a query to a SQLite database returns, as tuples of scalars."""

    @classmethod
    def _plain_class(cls) -> type[DatasetBase]:
        return DatasetV1._plain_class()


def parse_example_dataset(features: Any, num_parallel_calls: Any = 1) -> Transformation:
    """Return a transformation from batches of serialized `Example`s into dicts of tensors."""
    if features is None:
        raise ValueError("Missing: features was None.")

    def apply(dataset: Any) -> Any:
        return dataset.map(lambda texts: parse_example(texts, features), num_parallel_calls)

    return apply


def _of_files(file_pattern: Any) -> list[str]:
    names: list[str] = []
    for pattern in file_pattern if isinstance(file_pattern, (list, tuple)) else [file_pattern]:
        names += sorted(glob(pattern))
    if not names:
        raise ValueError("No files match the pattern.")
    return names


def make_batched_features_dataset_v2(
    file_pattern: Any, batch_size: Any, features: Any, reader: Any = None, label_key: Any = None,
    reader_args: Any = None, num_epochs: Any = None, shuffle: bool = True,
    shuffle_buffer_size: int = 10000, shuffle_seed: Any = None, prefetch_buffer_size: Any = None,
    reader_num_threads: Any = None, parser_num_threads: Any = None, sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> Any:  # fmt: skip
    """Return a dataset of batches of the `Example`s in files. Each batch is a dict of the parsed
    features.

    Args:
      reader: a class of datasets that read records from files; by default TFRecordDataset.
      label_key: the name of a feature. If `label_key` is passed, the elements are pairs (dict of
        the other features, this feature).
    """
    del sloppy_ordering
    read = reader or TFRecordDatasetV2
    names = DatasetV2.list_files(file_pattern, shuffle=shuffle, seed=shuffle_seed)
    arguments = reader_args or ()
    records = names.interleave(
        lambda name: _version_2(read(name, *arguments)),
        cycle_length=1 if reader_num_threads in (None, AUTOTUNE) else reader_num_threads,
        block_length=1,
    )
    if data_is_pairs(records):
        records = records.map(lambda _, value: value)
    records = _in_epochs(records, shuffle, shuffle_buffer_size, shuffle_seed, num_epochs)
    batches = records.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    calls = 2 if parser_num_threads is None else parser_num_threads
    parsed = batches.apply(parse_example_dataset(features, calls))
    if label_key:
        if label_key not in features:
            raise ValueError(
                f"The `label_key` provided ({label_key!r}) must be one of the `features` keys."
            )
        parsed = parsed.map(lambda row: (row, row.pop(label_key)))
    return parsed.prefetch(1 if prefetch_buffer_size is None else prefetch_buffer_size)


def data_is_pairs(dataset: Any) -> bool:
    """Return whether the elements are pairs of a key and a record."""
    return isinstance(dataset.element_spec, tuple)


def _version_2(dataset: Any) -> DatasetV2:
    return DatasetV2(dataset._variant_tensor, dataset.element_spec)


def _in_epochs(dataset: Any, shuffle: bool, size: int, seed: Any, epochs: Any) -> Any:
    if shuffle:
        dataset = dataset.shuffle(size, seed)
    return dataset.repeat(epochs) if epochs != 1 else dataset


@functools.wraps(make_batched_features_dataset_v2)
def make_batched_features_dataset(*arguments: Any, **named: Any) -> Any:
    """Return a dataset of API version 1.

    For the arguments and the elements, see `make_batched_features_dataset_v2`.
    """
    return _version_1(make_batched_features_dataset_v2(*arguments, **named))


def _version_1(dataset: Any) -> Any:
    return DatasetV1._plain_class()(dataset._variant_tensor, dataset.element_spec, [dataset])


def _column_names(name: str, delimiter: str, quotes: bool) -> list[str]:
    with open(name, newline="", encoding="utf-8") as file:
        quoting: Any = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
        names: list[str] = next(csv.reader(file, delimiter=delimiter, quoting=quoting))
    return names


def _inferred_defaults(
    names: Sequence[str], columns: int, chosen: Sequence[int], options: Any
) -> list[Any]:
    """Return a default value for each column. The dtype of a default value is the narrowest dtype
    that can represent the column's values in the first rows.
    """
    has_header, delimiter, quotes, missing, most = options
    kinds: list[int] = [0] * len(chosen)
    order = (int32, int64, float32, float64, string)
    count = 0
    for name in names:
        with open(name, newline="", encoding="utf-8") as file:
            quoting: Any = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
            rows = csv.reader(file, delimiter=delimiter, quoting=quoting)
            if has_header:
                next(rows, None)
            for row in rows:
                if len(row) != columns:
                    raise ValueError(
                        "Problem inferring types: CSV row has different number of fields than "
                        "expected."
                    )
                for place, column in enumerate(chosen):
                    kinds[place] = max(kinds[place], _kind(row[column], missing))
                count += 1
                if most is not None and count >= most:
                    return [np.zeros([1], order[kind].as_numpy_dtype) if kind < 4 else [""]
                            for kind in kinds]  # fmt: skip
    return [
        np.zeros([1], order[kind].as_numpy_dtype) if kind < 4 else np.array([b""], object)
        for kind in kinds
    ]


def _kind(text: str, missing: str) -> int:
    """Return the index of the dtype of `text` in (int32, int64, float32, float64, string)."""
    if text in ("", missing):
        return 0
    try:
        number = int(text)
    except ValueError:
        pass
    else:
        if -(2**31) <= number < 2**31:
            return 0
        return 1 if -(2**63) <= number < 2**63 else 2
    try:
        value = float(text)
    except ValueError:
        return 4
    return 2 if abs(value) <= np.finfo(np.float32).max else 3


def make_csv_dataset_v2(
    file_pattern: Any, batch_size: Any, column_names: Any = None, column_defaults: Any = None,
    label_name: Any = None, select_columns: Any = None, field_delim: str = ",",
    use_quote_delim: bool = True, na_value: str = "", header: bool = True, num_epochs: Any = None,
    shuffle: bool = True, shuffle_buffer_size: int = 10000, shuffle_seed: Any = None,
    prefetch_buffer_size: Any = None, num_parallel_reads: Any = None, sloppy: bool = False,
    num_rows_for_inference: Any = 100, compression_type: Any = None, ignore_errors: bool = False,
) -> Any:  # fmt: skip
    """Return a dataset of batches of the rows of CSV files. Each batch is a dict of columns.

    Args:
      column_names: by default, the names in the first file's header.
      column_defaults: by default, inferred from the first rows.
      label_name: the name of a column. If `label_name` is passed, the elements are pairs (dict of
        the other columns, this column).
    """
    del sloppy
    names = _of_files(file_pattern)
    if column_names is None:
        if not header:
            raise ValueError("Cannot infer column names without a header line.")
        column_names = _column_names(names[0], field_delim, use_quote_delim)
    if len(column_names) != len(set(column_names)):
        raise ValueError("Cannot have duplicate column names.")
    chosen = _chosen(select_columns, column_names)
    options = header, field_delim, use_quote_delim, na_value, num_rows_for_inference
    if column_defaults is None:
        column_defaults = _inferred_defaults(names, len(column_names), chosen, options)
    elif select_columns is not None and len(column_defaults) != len(chosen):
        raise ValueError("If specified, column_defaults and select_columns must have same length.")
    keys = [column_names[number] for number in chosen]
    if label_name is not None and label_name not in keys:
        raise ValueError("`label_name` provided must be one of the columns.")

    def read(name: Any) -> Any:
        return CsvDatasetV2(
            name, column_defaults, compression_type, None, header, field_delim, use_quote_delim,
            na_value, chosen if select_columns is not None else None,
        )  # fmt: skip

    dataset = DatasetV2.from_tensor_slices(names)
    if len(names) > 1 and shuffle:
        dataset = dataset.shuffle(len(names), shuffle_seed)
    rows = dataset.interleave(read, cycle_length=num_parallel_reads or 1, block_length=1)
    if ignore_errors:
        rows = rows.apply(_without_errors())
    rows = _in_epochs(rows, shuffle, shuffle_buffer_size, shuffle_seed, num_epochs)
    batches = rows.batch(batch_size, drop_remainder=num_epochs is None)
    batches = batches.map(_to_dict(keys, label_name))
    return batches.prefetch(1 if prefetch_buffer_size is None else prefetch_buffer_size)


_without_errors = ignore_errors


def _chosen(select_columns: Any, column_names: Sequence[str]) -> list[int]:
    if select_columns is None:
        return list(range(len(column_names)))
    numbers = []
    for column in select_columns:
        if isinstance(column, str):
            if column not in column_names:
                raise ValueError(
                    f"Value '{column}' passed to parameter 'select_columns' is no column"
                )
            numbers.append(list(column_names).index(column))
        else:
            numbers.append(int(column))
    if len(numbers) != len(set(numbers)):
        raise ValueError("select_columns contains duplicate columns")
    return sorted(numbers)


def _to_dict(keys: Sequence[str], label_name: Any) -> Callable[..., Any]:
    def made(*columns: Any) -> Any:
        row = dict(zip(keys, columns))
        if label_name is None:
            return row
        label = row.pop(label_name)
        return row, label

    return made


@functools.wraps(make_csv_dataset_v2)
def make_csv_dataset(*arguments: Any, **named: Any) -> Any:
    """Return a dataset of API version 1. For the arguments and the elements, see
    `make_csv_dataset_v2`.
    """
    return _version_1(make_csv_dataset_v2(*arguments, **named))


class RecordWriter:
    """A writer that writes the elements of a dataset of strings to a TFRecord file."""

    def __init__(self, filename: Any, compression_type: Any = None) -> None:
        self._filename = convert_to_tensor(filename, dtype=string, name="filename")
        self._compression_type = convert_to_tensor(
            compression_type or "", dtype=string, name="compression_type"
        )

    def write(self, dataset: Any) -> Any:
        """Return the op that writes the elements of a dataset. Raises TypeError unless the elements
        are strings.
        """
        if not isinstance(dataset, DatasetBase):
            raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
        if dataset.element_spec != TensorSpec([], string):
            raise TypeError(
                f"`dataset` must produce scalar `DT_STRING` tensors whereas it produces shape "
                f"{dataset.element_spec}"
            )
        return raw_ops.DatasetToTFRecord(
            dataset._variant_tensor, self._filename, self._compression_type
        )


class StatsAggregator:
    """Statistics of a pipeline. The class exists for compatibility. The statistics stay empty.

    To see the times of a pipeline's stages, use the commands `trace` and `explain`.
    """

    def get_summary(self) -> Any:
        """Return a string tensor that contains an empty `Summary`."""
        return convert_to_tensor("", dtype=string)


def latency_stats(tag: Any) -> Transformation:
    """Return a transformation that does not change the dataset. In TensorFlow, the transformation
    records latencies.
    """
    del tag
    return lambda dataset: dataset._same(dataset._variant_tensor)


bytes_produced_stats = latency_stats
