"""`tf.keras.utils.multi_gpu_model`: a model that divides its batches among GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.graph.client.default_graph_functions import device, get_default_graph
from gpugraph.library.keras.backend.keras_session import get_session
from gpugraph.library.keras.layers.lambda_layer import Lambda
from gpugraph.library.keras.layers.merge_layers import concatenate
from gpugraph.library.keras.model_cloning import clone_model
from gpugraph.library.keras.training.model import Model
from gpugraph.ops.framework.identity_and_shape import shape


def part_of_batch(values: Any, i: int, parts: int) -> Any:
    """Return part `i` of a batch that is split into `parts` equal parts. The last part includes the
    remainder.
    """
    size = shape(values)[0] // parts
    return values[i * size :] if i == parts - 1 else values[i * size : (i + 1) * size]


def multi_gpu_model(
    model: Any, gpus: int | Sequence[int], cpu_merge: bool = True, cpu_relocation: bool = False
) -> Any:
    """Return a model that splits batches among GPUs. Each GPU runs `model` on its part of the
    batch.

    The GPUs share the model's variables, which are not copied. To save the variables, save `model`,
    which owns the variables, instead of the result.

    Raises ValueError for fewer than 2 GPUs, and for GPUs that Keras's session does not have.

    Args:
      gpus: the number of GPUs, or a list of their indices.
      cpu_merge: whether to concatenate the outputs on the CPU. Otherwise the outputs are
        concatenated on the first of these GPUs.
      cpu_relocation: whether to use a copy of the model whose variables are on the CPU.
    """
    numbers = list(range(gpus)) if isinstance(gpus, int) else sorted(gpus)
    if len(numbers) <= 1:
        raise ValueError(
            "For multi-gpu usage to be effective, call `multi_gpu_model` with `gpus >= 2`. "
            f"Received: `gpus={gpus}`"
        )
    devices = [f"/gpu:{number}" for number in numbers]
    _check_devices(devices, gpus)
    if cpu_relocation:
        with device("/cpu:0"):
            model = clone_model(model)
    outputs = [_replica(model, place, part, len(devices)) for part, place in enumerate(devices)]
    with device("/cpu:0" if cpu_merge else devices[0]):
        merged = [
            concatenate(list(parts), axis=0, name=name)
            for name, parts in zip(model.output_names, zip(*outputs))
        ]
    return Model(model.inputs, merged)


def _check_devices(devices: list[str], gpus: Any) -> None:
    names = [item.name for item in get_session().list_devices()]
    there = ["/" + name.rpartition("/device:")[2].lower() for name in names]
    if missing := [name for name in devices if name not in there]:
        raise ValueError(
            f"To call `multi_gpu_model` with `gpus={gpus}`, we expect the following devices to be "
            f"available: {['/cpu:0', *devices]}. However this machine only has: {there}. Try "
            f"reducing `gpus`. {missing[0]} is missing; virtual GPUs are those of the session: "
            "tf.keras.backend.set_session(tf.Session(config=tf.ConfigProto(gpu_options="
            "tf.GPUOptions(virtual_gpus=2))))"
        )


def _replica(model: Any, place: str, part: int, parts: int) -> list[Any]:
    """Return a list of the outputs of a model for one part of its inputs, computed on one device.

    Args:
      place: the device's name.
    """
    arguments = {"i": part, "parts": parts}
    with device(place), get_default_graph().name_scope(f"replica_{part}"):
        inputs = [
            Lambda(
                part_of_batch, output_shape=tuple(tensor.shape.as_list())[1:], arguments=arguments
            )(tensor)
            for tensor in model.inputs
        ]
        outputs = model(inputs if len(inputs) > 1 else inputs[0])
    return outputs if isinstance(outputs, list) else [outputs]
