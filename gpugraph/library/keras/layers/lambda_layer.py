"""Lambda: a layer that calls a function of the program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpugraph.base.interruptions.signal_handlers import raised_by_handler
from gpugraph.base.nest import flatten, map_structure
from gpugraph.base.shapes import as_shape
from gpugraph.graph.client.client_graph import Graph
from gpugraph.library.keras.backend.backend_config import floatx
from gpugraph.library.keras.engine.keras_layer import Layer
from gpugraph.library.keras.engine.layer_inputs import map_shapes
from gpugraph.library.keras.layers.function_configs import function_config, function_of_config
from gpugraph.ops.arrays.constants_and_placeholders import placeholder

_FUNCTIONS = ("function", "output_shape", "mask")


class Lambda(Layer):
    """A layer that calls a function of the program.

    In a configuration, a named function is stored as its name. To load a model with such a layer,
    pass the function in `custom_objects`. Other functions are stored as bytecode, which is run only
    if the program permits it: see `load_model`.

    Args:
      function: a function of the inputs. The function also receives `mask` and `training` if it has
        these parameters.
      output_shape: the shape of the outputs without the batch axis, or a function that computes it
        from the inputs' shape. For several inputs or outputs, the shapes are lists of shapes.
      mask: the mask of the outputs, or a function of the inputs and their mask.
      arguments: a dict of additional arguments for `function`.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        output_shape: Any = None,
        mask: Any = None,
        arguments: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.function = function
        self.arguments = dict(arguments or {})
        self.mask, self.supports_masking = mask, mask is not None
        self._output_shape = output_shape
        names = function.__code__.co_varnames if hasattr(function, "__code__") else ()
        self._takes = {name for name in ("mask", "training") if name in names}

    @property
    def functions(self) -> dict[str, Callable[..., Any]]:
        """A dict from names to the functions among `function`, `output_shape` and `mask` that have
        a name.
        """
        values = (self.function, self._output_shape, self.mask)
        return {value.__name__: value for value in values if hasattr(value, "__name__")}

    def call(self, inputs: Any, mask: Any = None, training: Any = None) -> Any:
        """Apply the function to the inputs, with `mask` and `training` if it accepts them."""
        passed: dict[str, Any] = {"mask": mask, "training": training}
        accepted = {name: passed[name] for name in self._takes}
        return self.function(inputs, **self.arguments, **accepted)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Return the mask that the constructor received. If this mask is a function, return its
        result.
        """
        return self.mask(inputs, mask) if callable(self.mask) else self.mask

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the constructor's `output_shape`. If `output_shape` is None, call the layer in a
        separate graph and return the shape of the result.

        Raises NotImplementedError if this call fails, for example because the function uses tensors
        of the program.
        """
        if self._output_shape is None:
            return self._shape_by_call(input_shape)
        if callable(self._output_shape):
            return map_shapes(as_shape, self._output_shape(input_shape))
        batch = flatten(map_shapes(as_shape, input_shape))[0][:1]
        return map_shapes(batch.concatenate, self._output_shape)

    def _shape_by_call(self, input_shape: Any) -> Any:
        dtype = self._dtype or floatx()
        try:
            with Graph().as_default():
                inputs = map_shapes(lambda shape: placeholder(dtype, shape), input_shape)
                return map_structure(lambda tensor: tensor.shape, self.call(inputs))
        except Exception as error:  # raised by the program's function
            if raised_by_handler(error):
                raise
            raise NotImplementedError(
                "We could not infer the shape of the Lambda's output. Please specify "
                f"`output_shape` for this Lambda (layer {self.name}): {error}"
            ) from error

    def get_config(self) -> dict[str, Any]:
        """Return a configuration in which functions are names or bytecode. The configuration also
        includes the constructor's other arguments.
        """
        config = {**super().get_config(), "arguments": self.arguments}
        values = {"function": self.function, "output_shape": self._output_shape}
        if self.mask is not None:
            values["mask"] = self.mask
        for name, value in values.items():
            plain, kind, module = (
                function_config(value) if callable(value) else (value, "raw", None)
            )
            config |= {name: plain, f"{name}_type": kind, _module_key(name): module}
        return config

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> Any:
        """Create the layer of a configuration.

        Raises ValueError for bytecode that must not be run.
        """
        config = dict(config)
        for name in _FUNCTIONS:
            kind = config.pop(f"{name}_type", "function" if name == "function" else "raw")
            module = config.pop(_module_key(name), None)
            if kind != "raw" and config.get(name) is not None:
                config[name] = function_of_config(
                    config[name], kind, module, custom_objects, config.get("name", "lambda")
                )
        return cls(**config)


def _module_key(name: str) -> str:
    return "module" if name == "function" else f"{name}_module"
