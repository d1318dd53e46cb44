"""`tf.contrib.slim.tfexample_decoder`: decodes Examples into items, with a handler for each item.

An item is a tensor that a handler computes from features, such as an image, boxes, or a reshaped
feature.
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
from gpugraph.ops.image.files.png_and_bmp_ops import decode_image
from gpugraph.ops.parsing.feature_kinds import FixedLenFeature
from gpugraph.ops.parsing.parsing_functions import parse_single_example
from gpugraph.ops.sparse import sparse_functions, sparse_tensor

Tensors = Mapping[str, Any]


def _dense(value: Any, default_value: Any = None) -> client_tensor.Tensor:
    """Convert a SparseTensor to a dense tensor. Return a dense tensor unchanged."""
    if not isinstance(value, sparse_tensor.SparseTensor):
        return value
    default = {} if default_value is None else {"default_value": default_value}
    return sparse_functions.sparse_tensor_to_dense(value, **default)


class ItemHandler(abc.ABC):
    """A handler that computes one item from the features with the given keys (a list of keys or a
    single key).
    """

    def __init__(self, keys: Any) -> None:
        self._keys = list(keys) if isinstance(keys, (tuple, list)) else [keys]

    @property
    def keys(self) -> list[str]:
        """The keys of the features that the handler reads."""
        return self._keys

    @abc.abstractmethod
    def tensors_to_item(self, keys_to_tensors: Tensors) -> Any:
        """Return the item, given a dict from keys to the tensors of the features."""


class ItemHandlerCallback(ItemHandler):
    """A handler whose item is the result of `func(tensors)`. `tensors` is a dict from keys to
    features.
    """

    def __init__(self, keys: Any, func: Callable[[Tensors], Any]) -> None:
        super().__init__(keys)
        self._func = func

    def tensors_to_item(self, keys_to_tensors: Tensors) -> Any:
        """Return the result of the function."""
        return self._func(keys_to_tensors)


class BoundingBox(ItemHandler):
    """A handler for boxes, float [n, 4], from four features with n numbers each.

    The constructor raises ValueError unless there are four keys.

    Args:
      keys: by default ymin, xmin, ymax, xmax.
      prefix: a prefix of all keys.
    """

    def __init__(self, keys: Sequence[str] | None = None, prefix: str = "") -> None:
        keys = ["ymin", "xmin", "ymax", "xmax"] if keys is None else keys
        if len(keys) != 4:
            raise ValueError(f"BoundingBox expects 4 keys but got {len(keys)}")
        super().__init__([prefix + key for key in keys])

    def tensors_to_item(self, keys_to_tensors: Tensors) -> Any:
        """Return the boxes, one in each row."""
        sides = (keys_to_tensors[key] for key in self._keys)
        return transpose(stack([getattr(side, "values", side) for side in sides]))


class Tensor(ItemHandler):
    """A handler for one feature as a dense tensor.

    The constructor raises ValueError if both `shape_keys` and `shape` are passed.

    Args:
      shape_keys: the key of a feature that contains the shape, or a list of keys of features that
        contain one size each.
      shape: the shape itself.
      default_value: the value of elements that are missing in a sparse feature.
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
        """Return the tensor, reshaped if there is a shape."""
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
    """A handler whose item is the result of `table.lookup(feature)`."""

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
        """Return the table's values for the elements of the feature."""
        return self._table.lookup(super().tensors_to_item(keys_to_tensors))


class BackupHandler(ItemHandler):
    """A handler whose item comes from `handler`. If that item has no elements, the handler's item
    comes from `backup`.

    The constructor raises ValueError if an argument is not an ItemHandler.
    """

    def __init__(self, handler: ItemHandler, backup: ItemHandler) -> None:
        for kind, value in (("Primary", handler), ("Backup", backup)):
            if not isinstance(value, ItemHandler):
                raise ValueError(f"{kind} handler is of type {type(value)} instead of ItemHandler")
        super().__init__([*handler.keys, *backup.keys])
        self._handler, self._backup = handler, backup

    def tensors_to_item(self, keys_to_tensors: Tensors) -> Any:
        """Return the item of one of the two handlers."""
        item = self._handler.tensors_to_item(keys_to_tensors)
        is_empty = raw_ops.Equal(raw_ops.Size(item), np.array(0, np.int32))
        return cond(is_empty, lambda: self._backup.tensors_to_item(keys_to_tensors), lambda: item)


class SparseTensor(ItemHandler):
    """A handler for a SparseTensor from two features: the values, and their indices along the last
    axis.

    Args:
      shape_key: the key of a feature that contains the shape.
      shape: the shape itself. By default, the shape is the shape of the feature with the indices.
      densify: whether the item is a dense tensor, with `default_value` where there is no index.
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
        """Return the tensor that has these indices and values."""
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
    """A handler for an image, uint8 [height, width, channels], from the bytes of its file.

    The files have the formats of `decode_image`. For the format "raw" or "RAW", the bytes are the
    pixels as `dtype`.

    Args:
      shape: the shape of the image. If the shape is None, height and width are unknown.
      repeated: whether the feature contains several images of one size. The item is then a batch of
        images.
      dct_method: has no effect.
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
        """Return the image, or the batch of images."""
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
    """A decoder of Example messages.

    Args:
      keys_to_features: feature specifications for `tf.parse_single_example`.
      items_to_handlers: a dict from the names of items to their handlers.
    """

    def __init__(
        self, keys_to_features: Mapping[str, Any], items_to_handlers: Mapping[str, ItemHandler]
    ) -> None:
        self._keys_to_features = keys_to_features
        self._items_to_handlers = items_to_handlers

    def list_items(self) -> list[str]:
        """Return the names of the items, in the order of the handlers."""
        return list(self._items_to_handlers)

    def decode(self, serialized_example: Any, items: Sequence[str] | None = None) -> list[Any]:
        """Return the items with these names, by default all items, from `serialized_example`, a
        scalar string.
        """
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
