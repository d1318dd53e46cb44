"""`tf.data.experimental`: additional transformations of datasets, and functions that take a dataset
or an iterator.
"""

from gpugraph.library.data import (
    data_optional as _data_optional, dataset_base as _dataset_base, sampled_datasets as _sampled,
    table_datasets as _tables,
)
from gpugraph.library.data.data_optional import Optional as Optional
from gpugraph.library.data.data_options import (
    AutoShardPolicy as AutoShardPolicy, DistributeOptions as DistributeOptions,
    MapVectorizationOptions as MapVectorizationOptions, OptimizationOptions as OptimizationOptions,
    StatsOptions as StatsOptions, ThreadingOptions as ThreadingOptions,
)
from gpugraph.library.data.dataset_base import (
    AUTOTUNE as AUTOTUNE, INFINITE_CARDINALITY as INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY as UNKNOWN_CARDINALITY,
)
from gpugraph.library.data.dataset_queries import (
    cardinality as cardinality, get_single_element as get_single_element,
)
from gpugraph.library.data.dataset_versions import (
    from_variant as from_variant, get_structure as get_structure, to_variant as to_variant,
)
from gpugraph.library.data.experimental_transformations import (
    assert_cardinality as assert_cardinality, copy_to_device as copy_to_device,
    dense_to_ragged_batch as dense_to_ragged_batch, dense_to_sparse_batch as
    dense_to_sparse_batch, enumerate_dataset as enumerate_dataset, ignore_errors as
    ignore_errors, map_and_batch as map_and_batch, map_and_batch_with_legacy_function as
    map_and_batch_with_legacy_function, parallel_interleave as parallel_interleave,
    prefetch_to_device as prefetch_to_device, scan as scan, shuffle_and_repeat as
    shuffle_and_repeat, take_while as take_while, unbatch as unbatch, unique as unique,
)
from gpugraph.library.data.grouped_datasets import (
    Reducer as Reducer, bucket_by_sequence_length as bucket_by_sequence_length, group_by_reducer
    as group_by_reducer, group_by_window as group_by_window,
)
from gpugraph.library.data.iterators import get_next_as_optional as get_next_as_optional
from gpugraph.library.data.sampled_datasets import (
    Counter as Counter, choose_from_datasets as choose_from_datasets,
    rejection_resample as rejection_resample, sample_from_datasets as sample_from_datasets,
)
from gpugraph.library.data.saved_iterators import (
    CheckpointInputPipelineHook as CheckpointInputPipelineHook,
    make_saveable_from_iterator as make_saveable_from_iterator,
)
from gpugraph.library.data.table_datasets import (
    StatsAggregator as StatsAggregator, bytes_produced_stats as bytes_produced_stats,
    latency_stats as latency_stats, make_batched_features_dataset as make_batched_features_dataset,
    make_csv_dataset as make_csv_dataset, parse_example_dataset as parse_example_dataset,
)

CsvDataset = _tables.CsvDatasetV1
DatasetStructure = _dataset_base.DatasetSpec
OptionalStructure = _data_optional.OptionalSpec
RandomDataset = _sampled.RandomDatasetV1
SqlDataset = _tables.SqlDatasetV1
TFRecordWriter = _tables.RecordWriter
