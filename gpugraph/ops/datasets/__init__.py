"""Datasets, which are pipelines of stages in variant tensors, and the iterators that read them.

The module `stage` has the base classes. A `Stage` describes a dataset, and an `Elements` is one
iteration over it. The modules with the suffix `_stages` declare the op types of datasets through
`dataset_op`.
"""
