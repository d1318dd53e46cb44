"""Elements picked by position, order or value: gather, scatter, slices, sort, top_k, unique."""

from gpugraph.ops.indexing import (
    batch_coordinates,
    batch_gather_and_repeat,
    coordinate_gather_scatter,
    dynamic_partition,
    embedding_lookup,
    gather,
    gather_tree,
    one_hot_where_unique,
    partition_and_stitch_launches,
    slice_spec,
    sort_and_search,
    sort_launches,
    strided_slice,
    top_k,
    unique_counts_and_list_diff,
    where_and_unique_launches,
)
