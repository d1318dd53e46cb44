"""Datasets of the records in files: lines of text, TFRecords, and records of fixed length."""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import int64, string
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.client.tensor_spec import TensorSpec
from gpugraph.library.data.dataset_base import DatasetBase
from gpugraph.library.data.dataset_versions import DatasetV1, DatasetV2
from gpugraph.library.data.element_structure import legacy_types
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor

_BUFFER = 256 * 1024
_SPEC = TensorSpec([], string)


def _optional(value: Any, name: str, default: Any, dtype: Any = int64) -> Tensor:
    return convert_to_tensor(default if value is None else value, dtype=dtype, name=name)


class _OfFiles(DatasetV2):
    """Base class of datasets of the records in files. The paths of the files are a tensor."""

    @classmethod
    def _plain_class(cls) -> type[DatasetBase]:
        return DatasetV1._plain_class() if issubclass(cls, DatasetV1) else DatasetV2

    def _read(self, filenames: Any, num_parallel_reads: Any, read: Any) -> None:
        if isinstance(filenames, DatasetBase):
            if legacy_types(filenames.element_spec) != string:
                raise TypeError("`filenames` must be a `tf.data.Dataset` of `tf.string` elements.")
            names: Any = filenames
        else:
            tensor = convert_to_tensor(filenames, dtype=string, name="filenames")
            if num_parallel_reads is None:
                DatasetBase.__init__(self, read(tensor), _SPEC)
                return
            names = DatasetV2.from_tensor_slices(reshape(tensor, [-1], name="flat_filenames"))
        make = lambda name: DatasetV2(read(name), _SPEC)  # noqa: E731
        if num_parallel_reads is None:
            records = names.flat_map(make)
        else:
            cycle = 2 if num_parallel_reads == -1 else num_parallel_reads
            records = names.interleave(make, cycle, 1, num_parallel_reads)
        DatasetBase.__init__(self, records._variant_tensor, _SPEC, [names])


class TextLineDatasetV2(_OfFiles):
    """A dataset of the lines of text files, without line endings."""

    def __init__(
        self, filenames: Any, compression_type: Any = None, buffer_size: Any = None,
        num_parallel_reads: Any = None,
    ) -> None:  # fmt: skip
        compression = _optional(compression_type, "compression_type", "", string)
        size = _optional(buffer_size, "buffer_size", _BUFFER)
        self._read(
            filenames, num_parallel_reads,
            lambda names: raw_ops.TextLineDataset(names, compression, size),
        )  # fmt: skip


class TextLineDatasetV1(TextLineDatasetV2, DatasetV1):
    """A dataset of the lines of text files, without line endings."""


class TFRecordDatasetV2(_OfFiles):
    """A dataset of the records of TFRecord files."""

    def __init__(
        self, filenames: Any, compression_type: Any = None, buffer_size: Any = None,
        num_parallel_reads: Any = None,
    ) -> None:  # fmt: skip
        compression = _optional(compression_type, "compression_type", "", string)
        size = _optional(buffer_size, "buffer_size", _BUFFER)
        self._read(
            filenames, num_parallel_reads,
            lambda names: raw_ops.TFRecordDataset(names, compression, size),
        )  # fmt: skip


class TFRecordDatasetV1(TFRecordDatasetV2, DatasetV1):
    """A dataset of the records of TFRecord files."""


class FixedLengthRecordDatasetV2(_OfFiles):
    """A dataset of the records of files that consist of a header, records of fixed length, and a
    footer.
    """

    def __init__(
        self, filenames: Any, record_bytes: Any, header_bytes: Any = None, footer_bytes: Any = None,
        buffer_size: Any = None, compression_type: Any = None, num_parallel_reads: Any = None,
    ) -> None:  # fmt: skip
        record = convert_to_tensor(record_bytes, dtype=int64, name="record_bytes")
        header = _optional(header_bytes, "header_bytes", 0)
        footer = _optional(footer_bytes, "footer_bytes", 0)
        size = _optional(buffer_size, "buffer_size", _BUFFER)
        compression = _optional(compression_type, "compression_type", "", string)
        self._read(
            filenames, num_parallel_reads,
            lambda names: raw_ops.FixedLengthRecordDatasetV2(
                names, header, record, footer, size, compression
            ),
        )  # fmt: skip


class FixedLengthRecordDatasetV1(FixedLengthRecordDatasetV2, DatasetV1):
    """A dataset of the records of files that consist of a header, records of fixed length, and a
    footer.
    """
