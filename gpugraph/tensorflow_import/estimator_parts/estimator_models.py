"""The functions of Keras that the library tensorflow-estimator calls to convert a model of
`tf.keras` to an estimator.

An estimator builds a new graph for each mode. It calls a copy of the model with the tensors of its
input function, and uses the loss, the training op and the metrics of the copy.
"""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

from gpugraph.graph.client.default_graph_functions import control_dependencies
from gpugraph.library.keras.backend.keras_session import get_session
from gpugraph.library.keras.backend.keras_variables import placeholder
from gpugraph.library.keras.keras_objects import custom_object_scope
from gpugraph.library.keras.metrics.metric_class import Metric
from gpugraph.library.keras.model_cloning import clone_model
from gpugraph.library.keras.optimizers.tf_optimizer import TFOptimizer
from gpugraph.library.keras.training.model import Model
from gpugraph.library.keras.training.sequential import Sequential
from gpugraph.ops.control.group_and_no_op import group
from gpugraph.tensorflow_import.private_attributes import set_private_attributes
from gpugraph.tensorflow_import.tensorflow_names import find


def model_to_estimator(
    keras_model: Any = None,
    keras_model_path: Any = None,
    custom_objects: Any = None,
    model_dir: Any = None,
    config: Any = None,
    checkpoint_format: str = "saver",
) -> Any:
    """Return an estimator that trains a copy of a compiled model. The library tensorflow-estimator
    creates it.

    Raises NotImplementedError if the library is not installed. See the library for other errors.

    Args:
      keras_model: the model.
      keras_model_path: the path of the model's file, instead of the model.
    """
    convert = find("python.estimator.keras", "model_to_estimator")
    return convert(
        keras_model=keras_model,
        keras_model_path=keras_model_path,
        custom_objects=custom_objects,
        model_dir=model_dir,
        config=config,
        checkpoint_format=checkpoint_format,
    )


def clone_and_build_model(
    model: Any,
    input_tensors: Any = None,
    target_tensors: Any = None,
    custom_objects: Any = None,
    compile_clone: bool = True,
    in_place_reset: bool = False,
    optimizer_iterations: Any = None,
    optimizer_config: Any = None,
) -> Any:
    """Return a copy of a model with different inputs. The copy is compiled with the same settings.

    Raises ValueError if the model is not compiled, or if it is a subclass that cannot be copied
    from its configuration.

    Args:
      optimizer_iterations: the variable in which the copy's optimizer counts steps.
      optimizer_config: the configuration of the copy's optimizer. By default, the model's optimizer
        provides it.
    """
    if compile_clone and not model.optimizer:
        raise ValueError(
            "Error when cloning model: compile_clone was set to True, but the original model has "
            "not been compiled."
        )
    with custom_object_scope(custom_objects) if custom_objects else nullcontext():
        clone = _clone(model, input_tensors)
    if compile_clone:
        clone.compile(
            _clone_optimizer(model.optimizer, optimizer_iterations, optimizer_config),
            model.loss,
            metrics=_clone_metrics(model._compile_metrics),
            loss_weights=model.loss_weights,
            sample_weight_mode=model.sample_weight_mode,
            weighted_metrics=_clone_metrics(model._compile_weighted_metrics),
            target_tensors=target_tensors,
        )
    return clone


def _clone(model: Any, input_tensors: Any) -> Any:
    if model.is_graph_network or isinstance(model, Sequential):
        clone = clone_model(model, input_tensors=input_tensors)
        shape = getattr(model, "_build_input_shape", None)
        if isinstance(clone, Sequential) and not clone.is_graph_network and shape is not None:
            clone.set_inputs(placeholder(shape, dtype=model.inputs[0].dtype))
        return clone
    try:
        clone = type(model).from_config(model.get_config())
    except NotImplementedError:
        raise ValueError(
            "This model is a subclassed model. Such a model cannot be cloned: define its "
            f"`get_config` and `from_config`, or build {type(model).__name__} of "
            "tf.keras.layers with tf.keras.Model(inputs, outputs)"
        ) from None
    if input_tensors is not None:
        is_single = isinstance(input_tensors, (list, tuple)) and len(input_tensors) == 1
        clone.set_inputs(input_tensors[0] if is_single else input_tensors)
    return clone


def _clone_optimizer(optimizer: Any, iterations: Any, config: Any) -> Any:
    if isinstance(optimizer, TFOptimizer):
        return TFOptimizer(optimizer.optimizer, iterations)
    if isinstance(config, (list, tuple)):
        config = config[0]
    clone = type(optimizer).from_config(config or optimizer.get_config())
    if iterations is not None:
        clone.iterations = iterations
    return clone


def _clone_metrics(metrics: Any) -> Any:
    """Return the metrics that `compile` received, in which new objects replace the Metric
    objects.
    """
    if isinstance(metrics, Metric):
        return type(metrics).from_config(metrics.get_config())
    if isinstance(metrics, dict):
        return {name: _clone_metrics(metric) for name, metric in metrics.items()}
    if isinstance(metrics, (list, tuple)):
        return [_clone_metrics(metric) for metric in metrics]
    return metrics


def _initialize_variables(session: Any) -> None:
    """Initialize the uninitialized variables of Keras in a session's graph."""
    with session.as_default():
        get_session()


# -- the attributes of models that the estimator reads


def _weighted(model: Any) -> tuple[bool, ...]:
    return tuple(weights is not None for weights in vars(model).get("_weight_tensors", ()))


def _step(model: Any) -> Any:
    """Return the model's graph of a training or evaluation step. The step weights the examples if
    the input function returns weights.
    """
    flags = _weighted(model) or (False,) * len(model.setup.trained)
    return model.setup.step_graph(flags)


def _set_weights(model: Any, tensors: Any) -> None:
    """Set the tensors that contain the weights of the examples for each output.

    This is `Model._compile_weights_loss_and_weighted_metrics`.
    """
    model._weight_tensors = list(tensors)
    for output, tensor in zip(model.setup.trained, tensors):
        if tensor is not None:
            output._weight = tensor


def _make_train_function(model: Any) -> None:
    """Build the updates of a training step. The op `train_function.updates_op` runs all of them."""
    step = _step(model)
    with model.graph_of_outputs.as_default():
        updates = model.setup._updates(step)
        with control_dependencies([step.loss]):
            done = group(*updates, *(metric.op for metric in step.results))
    model.train_function = SimpleNamespace(updates_op=done)


def _make_test_function(model: Any) -> None:
    """Build the loss and the metrics of a step."""
    _step(model)


set_private_attributes(
    {
        Model: {
            "_compile_metric_functions": property(lambda model: model.setup.output_metrics),
            "_compile_weights_loss_and_weighted_metrics": _set_weights,
            "_make_test_function": _make_test_function,
            "_make_train_function": _make_train_function,
            "total_loss": property(lambda model: _step(model).loss),
        }
    }
)
