"""Pipelines of input data: datasets, their transformations and iterators."""

from gpugraph.api.data import data_experimental as _experimental
from gpugraph.library.data import (
    dataset_loops as _loops, dataset_versions as _versions, file_datasets as _files,
)
from gpugraph.library.data.data_options import Options as Options
from gpugraph.library.data.dataset_versions import (
    get_legacy_output_classes as get_legacy_output_classes,
    get_legacy_output_shapes as get_legacy_output_shapes,
    get_legacy_output_types as get_legacy_output_types,
    make_initializable_iterator as make_initializable_iterator,
    make_one_shot_iterator as make_one_shot_iterator,
)
from gpugraph.library.data.iterators import Iterator as Iterator

Dataset = _versions.DatasetV1
FixedLengthRecordDataset = _files.FixedLengthRecordDatasetV1
TFRecordDataset = _files.TFRecordDatasetV1
TextLineDataset = _files.TextLineDatasetV1
experimental = _experimental
