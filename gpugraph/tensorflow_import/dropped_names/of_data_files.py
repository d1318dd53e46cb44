"""Attributes that h5py, pandas, scikit-learn, networkx and other packages have removed."""

from __future__ import annotations

import functools
import os
from typing import Any, NoReturn

from gpugraph.tensorflow_import.modules_by_name import module_named

DATASET_VALUE = property(lambda dataset: dataset[()])
"""`h5py.Dataset.value`: the array of the whole data set."""


def restore_h5py(h5py: Any) -> None:
    """Restore the mode of h5py before version 3 for files without a mode: read and write, or only
    read where the file can't be written.
    """
    opened = h5py.File.__init__

    @functools.wraps(opened)
    def init(self: Any, name: Any, mode: Any = None, *args: Any, **kwargs: Any) -> None:
        if mode is None:
            is_path = isinstance(name, (str, bytes, os.PathLike))
            is_fixed = is_path and os.path.exists(name) and not os.access(name, os.W_OK)
            mode = "r" if is_fixed else "a"
        opened(self, name, mode, *args, **kwargs)

    h5py.File.__init__ = init


def append(frame: Any, other: Any, ignore_index: bool = False, **options: Any) -> Any:
    """Return the rows of `frame` followed by the rows of `other`. A dict `other` is one row."""
    pandas = module_named("pandas")
    if isinstance(other, dict):
        other = pandas.DataFrame([other])
    elif isinstance(other, pandas.Series) and isinstance(frame, pandas.DataFrame):
        other = other.to_frame().T
    others = list(other) if isinstance(other, (list, tuple)) else [other]
    return pandas.concat([frame, *others], ignore_index=ignore_index)


def as_matrix(frame: Any, columns: Any = None) -> Any:
    """Return the values of a table as an array."""
    return (frame if columns is None else frame[columns]).values


def get_value(frame: Any, index: Any, col: Any) -> Any:
    """Return one element of a table."""
    return frame.at[index, col]


class _Ix:
    """The object `frame.ix`, which selects elements by labels. If the labels are not integers, it
    also selects by positions.
    """

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def _indexer(self, key: Any) -> Any:
        first = key[0] if isinstance(key, tuple) else key
        has_numbers = self._frame.index.dtype.kind in "iu"
        start = first.start if isinstance(first, slice) else first
        by_number = isinstance(start, int) and not has_numbers
        return self._frame.iloc if by_number else self._frame.loc

    def __getitem__(self, key: Any) -> Any:
        return self._indexer(key)[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._indexer(key)[key] = value


IX = property(_Ix)
"""`pandas.DataFrame.ix`."""


def fetch_mldata(*arguments: Any, **options: Any) -> NoReturn:
    """Raise OSError, because mldata.org, the source of the data, no longer exists."""
    raise OSError("mldata.org no longer exists: use sklearn.datasets.fetch_openml")


def component_subgraphs(graph: Any) -> Any:
    """Return the connected components of a graph, as graphs."""
    networkx = module_named("networkx")
    return (graph.subgraph(part).copy() for part in networkx.connected_components(graph))


def yaml_load(function: Any) -> Any:
    """Return a version of `yaml.load` whose default loader creates no Python objects."""
    safe = module_named("yaml").SafeLoader

    def load(stream: Any, Loader: Any = safe) -> Any:
        return function(stream, Loader)

    return load


def make_attribute(function: Any) -> Any:
    """Return a version of `onnx.helper.make_attribute` that accepts an empty list. The result is an
    attribute of the type of lists of integers.
    """

    def make(key: str, value: Any, *arguments: Any, **options: Any) -> Any:
        if isinstance(value, (list, tuple)) and not value and not arguments and not options:
            options["attr_type"] = module_named("onnx").AttributeProto.INTS
        return function(key, value, *arguments, **options)

    return make
