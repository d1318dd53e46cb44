"""`tf.contrib.slim.tfexample_decoder`: Examples decoded into items, by a handler for each.

An item is a tensor that a handler computes of some features: an image, boxes, numbers in a shape.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import DType, int64, uint8
from gpugraph.building.control_flow.cond import cond
from gpugraph.building.control_flow.map_fold_scan import map_fn
from gpugraph.graph.client import tensor as client_tensor
from gpugraph.library.contrib.slim_models.data_decoder import DataDecoder
from gpugraph.ops.arrays.concat_and_stack import concat, stack
from gpugraph.ops.arrays.reshape_and_transpose import reshape, transpose
from gpugraph.ops.files.decode_raw import decode_raw
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.image.png_and_bmp_ops import decode_image
from gpugraph.ops.parsing.feature_kinds import FixedLenFeature
from gpugraph.ops.parsing.parsing_functions import parse_single_example
from gpugraph.ops.sparse import sparse_functions, sparse_tensor

Tensors = Mapping[str, Any]


def _dense(value: Any, default_value: Any = None) -> client_tensor.Tensor:
    """A tensor as it is, a SparseTensor as a dense one."""
    if not isinstance(value, sparse_tensor.SparseTensor):
        return value
    default = {} if default_value is None else {"default_value": default_value}
    return sparse_functions.sparse_tensor_to_dense(value, **default)


class ItemHandler(abc.ABC):
    """Computes an item of the features of some keys; one key needs no list."""

    def __init__(self, keys: Any) -> None:
        self._keys = list(keys) if isinstance(keys, (tuple, list)) else [keys]

    @property
    def keys(self) -> list[str]:
        """The keys of the features."""
        return self._keys

    @abc.abstractmethod
    def tensors_to_item(self, keys_to_tensors: Tensors) -> Any:
        """The item, of the features' tensors by their keys."""


class ItemHandlerCallback(ItemHandler):
    """An item that a function computes of the tensors by their keys."""

    def __init__(self, keys: Any, func: Callable[[Tensors], Any]) -> None:
        super().__init__(keys)
        self._func = func

    def tensors_to_item(self, keys_to_tensors: Tensors) -> Any:
        """What the function gives."""
        return self._func(keys_to_tensors)


class BoundingBox(ItemHandler):
    """Boxes, float [n, 4], of four features of n numbers each; ymin, xmin, ymax, xmax by default.

    ValueError for another number of keys. prefix: of all keys.
    """

    def __init__(self, keys: Sequence[str] | None = None, prefix: str = "") -> None:
        keys = ["ymin", "xmin", "ymax", "xmax"] if keys is None else keys
        if len(keys) != 4:
            raise ValueError(f"BoundingBox expects 4 keys but got {len(keys)}")
        super().__init__([prefix + key for key in keys])

    def tensors_to_item(self, keys_to_tensors: Tensors) -> Any:
        """The boxes, a row each."""
        sides = (keys_to_tensors[key] for key in self._keys)
        return transpose(stack([getattr(side, "values", side) for side in sides]))


class Tensor(ItemHandler):
    """A feature as a dense tensor.

    shape_keys: features that hold the shape, or its sizes one by one. shape: the shape itself.
    default_value: where a sparse feature has none. ValueError for both `shape_keys` and `shape`.
    """

    def __init__(
        self, tensor_key: str, shape_keys: Any = None, shape: Any = None, default_value: Any = 0
    ) -> None:
        if shape_keys and shape is not None:
            raise ValueError("Cannot specify both shape_keys and shape parameters.")
        shape_keys = [shape_keys] if isinstance(shape_keys, str) else list(shape_keys or ())
        super().__init__([tensor_key, *shape_keys])
        self._tensor_key, self._shape_keys = tensor_key, shape_keys
        self._shape, self._default_value = shape, default_value

    def tensors_to_item(self, keys_to_tensors: Tensors) -> Any:
        """The tensor, of its shape."""
        tensor, shape = keys_to_tensors[self._tensor_key], self._shape
        if self._shape_keys:
            sizes = stack([_dense(keys_to_tensors[key]) for key in self._shape_keys])
            shape = reshape(sizes, [-1])
        if not isinstance(tensor, sparse_tensor.SparseTensor):
            return tensor if shape is None else reshape(tensor, shape)
        if shape is not None:
            tensor = sparse_functions.sparse_reshape(tensor, shape)
        return _dense(tensor, self._default_value)


class LookupTensor(Tensor):
    """As `Tensor`, looked up in a table: what `table.lookup` gives."""

    def __init__(
        self,
        tensor_key: str,
        table: Any,
        shape_keys: Any = None,
        shape: Any = None,
        default_value: Any = "",
    ) -> None:
        super().__init__(tensor_key, shape_keys, shape, default_value)
        self._table = table

    def tensors_to_item(self, keys_to_tensors: Tensors) -> Any:
        """The values of the table."""
        return self._table.lookup(super().tensors_to_item(keys_to_tensors))


class BackupHandler(ItemHandler):
    """The item of `handler`, or, where it has no elements, that of `backup`.

    ValueError for what is no ItemHandler.
    """

    def __init__(self, handler: ItemHandler, backup: ItemHandler) -> None:
        for kind, value in (("Primary", handler), ("Backup", backup)):
            if not isinstance(value, ItemHandler):
                raise ValueError(f"{kind} handler is of type {type(value)} instead of ItemHandler")
        super().__init__([*handler.keys, *backup.keys])
        self._handler, self._backup = handler, backup

    def tensors_to_item(self, keys_to_tensors: Tensors) -> Any:
        """The item of one of the two."""
        item = self._handler.tensors_to_item(keys_to_tensors)
        is_empty = raw_ops.Equal(raw_ops.Size(item), np.array(0, np.int32))
        return cond(is_empty, lambda: self._backup.tensors_to_item(keys_to_tensors), lambda: item)


class SparseTensor(ItemHandler):
    """A SparseTensor, of features that hold its last indices and its values.

    shape_key: of a feature that holds the shape; shape: the shape itself; else it is that of the
    indices. densify: the item is a dense tensor, with `default_value` elsewhere.
    """

    def __init__(
        self,
        indices_key: str | None = None,
        values_key: str | None = None,
        shape_key: str | None = None,
        shape: Any = None,
        densify: bool = False,
        default_value: Any = 0,
    ) -> None:
        self._indices_key, self._values_key = indices_key or "indices", values_key or "values"
        super().__init__([self._indices_key, self._values_key, *([shape_key] if shape_key else [])])
        self._shape_key, self._shape = shape_key, shape
        self._densify, self._default_value = densify, default_value

    def tensors_to_item(self, keys_to_tensors: Tensors) -> Any:
        """The tensor of the indices and values."""
        indices, values = keys_to_tensors[self._indices_key], keys_to_tensors[self._values_key]
        if self._shape_key:
            shape = _dense(keys_to_tensors[self._shape_key])
        else:
            shape = self._shape if self._shape else indices.dense_shape
        last = reshape(raw_ops.Cast(indices.values, DstT=int64), [-1, 1])
        positions = concat([indices.indices[:, :-1], last], 1)
        item = sparse_tensor.SparseTensor(positions, values.values, shape)
        return _dense(item, self._default_value) if self._densify else item


class Image(ItemHandler):
    """An image of its bytes: uint8 [height, width, channels], in the formats of `decode_image`.

    A format "raw" or "RAW" are the pixels as `dtype`. shape: the image's, else its height and width
    are open. repeated: the feature holds several images of one size, the item is a batch.
    dct_method: of JPEG files, which are not decoded here.
    """

    def __init__(
        self,
        image_key: str | None = None,
        format_key: str | None = None,
        shape: Any = None,
        channels: int = 3,
        dtype: DType = uint8,
        repeated: bool = False,
        dct_method: str = "",
    ) -> None:
        self._image_key = image_key or "image/encoded"
        self._format_key = format_key or "image/format"
        super().__init__([self._image_key, self._format_key])
        self._shape, self._channels, self._dtype = shape, channels, dtype
        self._repeated, self._dct_method = repeated, dct_method

    def tensors_to_item(self, keys_to_tensors: Tensors) -> Any:
        """The image, or the batch of images."""
        content, kind = keys_to_tensors[self._image_key], keys_to_tensors[self._format_key]
        if self._repeated:
            return map_fn(lambda image: self._decode(image, kind), content, dtype=self._dtype)
        return self._decode(content, kind)

    def _decode(self, content: Any, kind: Any) -> Any:
        is_raw = raw_ops.LogicalOr(raw_ops.Equal(kind, b"raw"), raw_ops.Equal(kind, b"RAW"))
        image = cond(
            is_raw, lambda: decode_raw(content, self._dtype), lambda: self._of_file(content)
        )
        image.set_shape([None, None, self._channels])
        return image if self._shape is None else reshape(image, self._shape)

    def _of_file(self, content: Any) -> Any:
        return raw_ops.Cast(decode_image(content, self._channels), DstT=self._dtype)


class TFExampleDecoder(DataDecoder):
    """Decodes Examples by the features of `tf.parse_single_example` and a handler for each item."""

    def __init__(
        self, keys_to_features: Mapping[str, Any], items_to_handlers: Mapping[str, ItemHandler]
    ) -> None:
        self._keys_to_features = keys_to_features
        self._items_to_handlers = items_to_handlers

    def list_items(self) -> list[str]:
        """The names of the items, in the order of the handlers."""
        return list(self._items_to_handlers)

    def decode(self, serialized_example: Any, items: Sequence[str] | None = None) -> list[Any]:
        """The items, or all of them, of one Example, a string scalar."""
        example = parse_single_example(serialized_example, self._keys_to_features)
        for key in sorted(self._keys_to_features):
            feature = self._keys_to_features[key]
            if isinstance(feature, FixedLenFeature):
                example[key] = reshape(example[key], feature.shape)
        handlers = [self._items_to_handlers[item] for item in items or self.list_items()]
        return [
            handler.tensors_to_item({key: example[key] for key in handler.keys})
            for handler in handlers
        ]
