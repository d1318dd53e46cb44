"""Datasets: pipelines of stages behind variant tensors, and the iterators that read them.

`stage` has the base classes: a `Stage` describes a dataset, its `Elements` iterate over one pass.
Each other module of stages declares its op types by `dataset_op`, a row for each.
"""
