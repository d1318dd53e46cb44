"""Checkpoints as bytes: the index table, its entries, the data files.

wire                fields of small messages
sorted_table        the index: sorted keys and values in blocks with checksums
bundle_entries      what the index says of a tensor
slices              parts of tensors: their texts, keys and overlaps
bundle_writer       writes tensors one by one, merges shards
bundle_reader       reads them, whole or in part
"""
