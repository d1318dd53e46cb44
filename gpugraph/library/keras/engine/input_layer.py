"""The inputs of networks of layers: the function `Input`, and the class InputLayer."""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import as_dtype
from gpugraph.building.variables import Variable
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.backend.backend_config import floatx
from gpugraph.library.keras.backend.keras_session import get_uid
from gpugraph.library.keras.backend.keras_variables import is_keras_tensor, placeholder
from gpugraph.library.keras.engine.keras_layer import Layer
from gpugraph.library.keras.engine.layer_nodes import KerasHistory, LayerNode


class InputLayer(Layer):
    """The layer of one input of a network. Its output is a placeholder or an existing tensor.

    The constructor raises UnimplementedError if `ragged` is true. It raises ValueError if both
    `input_shape` and `batch_input_shape` are passed, or for an unknown keyword argument.

    Args:
      input_shape: the shape without the batch axis.
      batch_size: the number of examples. If `batch_size` is None, any number is allowed.
      dtype: by default the dtype of `input_tensor`, or else `floatx()`.
      input_tensor: the tensor or variable that is used as the input instead of a new placeholder.
      sparse: whether the input is a SparseTensor.
      kwargs: may contain `batch_input_shape`, the shape with the batch axis.
    """

    supports_masking = True

    def __init__(
        self,
        input_shape: Any = None,
        batch_size: int | None = None,
        dtype: Any = None,
        input_tensor: Any = None,
        sparse: bool = False,
        name: str | None = None,
        ragged: bool = False,
        **kwargs: Any,
    ) -> None:
        batch_input_shape = kwargs.pop("batch_input_shape", None)
        if kwargs:
            raise ValueError(f"Unrecognized keyword arguments: {', '.join(kwargs)}")
        if batch_input_shape is not None:
            if input_shape is not None:
                raise ValueError(
                    "Only provide the input_shape OR batch_input_shape argument to InputLayer, "
                    f"not both: input_shape={input_shape}, batch_input_shape={batch_input_shape}"
                )
            batch_size, *input_shape = batch_input_shape
        if dtype is None:
            dtype = floatx() if input_tensor is None else input_tensor.dtype
        super().__init__(name=name or f"input_{get_uid('input')}", dtype=dtype)
        self.sparse, self.ragged, self.batch_size = sparse, ragged, batch_size
        self.is_placeholder = input_tensor is None
        tensor = input_tensor
        if tensor is None:
            sizes = None if input_shape is None else (batch_size, *_sizes(input_shape))
            tensor = placeholder(
                sizes, dtype=as_dtype(dtype), sparse=sparse, ragged=ragged, name=self._name
            )
        elif not isinstance(tensor, (Tensor, Variable)):
            raise ValueError(
                f"You should not pass a value of type {type(tensor).__name__} to `input_tensor`; "
                "it takes a symbolic tensor or a variable"
            )
        shape = tensor.shape
        self._batch_input_shape = None if shape.rank is None else tuple(shape.as_list())
        self._graph = tensor.graph
        self.built = True
        tensor._keras_history = KerasHistory(self, 0, 0)
        node = LayerNode(self, tensor, tensor, {}, is_input=True)
        self._inbound_nodes.append(node)

    @property
    def output_shape(self) -> Any:
        """A list that contains the input's shape, as in TensorFlow. Other layers return the shape
        itself.
        """
        return [super().output_shape]

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor. `batch_input_shape` contains the shape with the
        batch axis.
        """
        dtype = self.dtype
        return {
            "batch_input_shape": self._batch_input_shape,
            "dtype": None if dtype is None else dtype.name,
            "sparse": self.sparse,
            "ragged": self.ragged,
            "name": self.name,
        }


def _sizes(shape: Any) -> tuple[int | None, ...]:
    if isinstance(shape, int):
        return (shape,)
    return tuple(shape.as_list() if hasattr(shape, "as_list") else shape)


def input_tensor(
    shape: Any = None,
    batch_size: int | None = None,
    name: str | None = None,
    dtype: Any = None,
    sparse: bool = False,
    tensor: Any = None,
    ragged: bool = False,
    **kwargs: Any,
) -> Any:
    """Return the tensor of a new input of a network. This is the function `tf.keras.Input`.

    Raises ValueError if neither a shape nor a tensor is passed, if both `shape` and `batch_shape`
    are passed, or if `kwargs` contains an unknown name. Source: Keras's `Input`.

    Args:
      shape: the shape without the batch axis. None means an unknown size.
      batch_size: the number of examples. If `batch_size` is None, any number is allowed.
      tensor: the tensor that is used as the input instead of a new placeholder.
      kwargs: may contain `batch_shape` or `batch_input_shape`, the shape with the batch axis.
    """
    batch_shape = kwargs.pop("batch_shape", None)
    whole = kwargs.pop("batch_input_shape", batch_shape)
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments: {', '.join(kwargs)}")
    if shape is not None and whole is not None:
        raise ValueError("Only provide the `shape` OR `batch_input_shape` argument to Input.")
    if shape is None and whole is None and tensor is None:
        raise ValueError(
            "Please provide to Input either a `shape` or a `tensor` argument. Note that `shape` "
            "does not include the batch dimension."
        )
    options = {"input_shape": shape} if whole is None else {"batch_input_shape": whole}
    if tensor is not None and shape is None and whole is None:
        options = {}
    layer = InputLayer(
        **options, batch_size=batch_size, name=name, dtype=dtype, sparse=sparse,
        input_tensor=tensor, ragged=ragged,
    )  # fmt: skip
    return layer.output


def input_of(tensor: Any) -> Any:
    """Return `tensor` if a Keras layer created it. Otherwise return the output of a new InputLayer
    for `tensor`.
    """
    return tensor if is_keras_tensor(tensor) else input_tensor(tensor=tensor)
