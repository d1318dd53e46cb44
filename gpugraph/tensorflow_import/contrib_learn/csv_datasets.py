"""`tf.contrib.learn.datasets.base`, which reads examples from CSV files."""

from __future__ import annotations

import csv
from typing import Any, NamedTuple

import numpy as np

from gpugraph.platform import files


class Dataset(NamedTuple):
    """The features and the targets of examples."""

    data: Any
    target: Any


class Datasets(NamedTuple):
    """The examples for training, validation and testing."""

    train: Any
    validation: Any
    test: Any


def _dataset(rows: Any, target_dtype: Any, features_dtype: Any, target_column: int) -> Dataset:
    data, target = [], []
    for row in rows:
        target.append(row.pop(target_column))
        data.append(np.asarray(row, dtype=features_dtype))
    return Dataset(np.array(data), np.array(target, dtype=target_dtype))


def load_csv_with_header(
    filename: Any, target_dtype: Any, features_dtype: Any, target_column: int = -1
) -> Dataset:
    """Return the examples of a CSV file in which each row is an example. The first row of the file
    has the number of examples and the number of features.

    Raises ValueError if these numbers are wrong.
    """
    with files.GFile(filename) as file:
        rows = csv.reader(file)
        num_samples, num_features = map(int, next(rows)[:2])
        outcome = _dataset(rows, target_dtype, features_dtype, target_column)
    if outcome.data.shape != (num_samples, num_features):
        raise ValueError(
            f"{filename} has {outcome.data.shape} values, but its header is "
            f"{num_samples},{num_features}"
        )
    return outcome


def load_csv_without_header(
    filename: Any, target_dtype: Any, features_dtype: Any, target_column: int = -1
) -> Dataset:
    """Return the examples of a CSV file in which each row is an example."""
    with files.GFile(filename) as file:
        return _dataset(csv.reader(file), target_dtype, features_dtype, target_column)


def maybe_download(filename: str, work_directory: str, source_url: str) -> str:
    """Return the path of a file in a folder. Nothing is downloaded. Raises FileNotFoundError if the
    file does not exist.
    """
    path = f"{work_directory.rstrip('/')}/{filename}"
    if not files.Exists(path):
        raise FileNotFoundError(
            f"{path} does not exist, and gpugraph downloads nothing: put the file of {source_url} "
            "there"
        )
    return path
