"""Ops on an emulated GPU."""

from __future__ import annotations

from typing import Any

import pytest

import gpugraph as tf
from gpugraph.devices import gpu_devices as gpu
from gpugraph.devices.cuda.emulation.host_driver import HostDriver

__all__ = ["Machine", "on_gpu"]


class Machine:
    """A factory of a test's GPUs, with the settings of `how` for their drivers.

    functions: the kernels that they launched.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.how: dict[str, Any] = {}
        self.functions: list[str] = []
        machine = self

        class Driver(HostDriver):
            def __init__(self, *inputs: Any, **options: Any) -> None:
                super().__init__(*inputs, **options, **machine.how)

            def launcher(self, module: Any, function: str, *inputs: Any, **options: Any) -> Any:
                machine.functions.append(function)
                return super().launcher(module, function, *inputs, **options)

        monkeypatch.setattr(gpu, "HostDriver", Driver)


def on_gpu(make: Any, *values: Any, start: Any = None) -> Any:
    """Run the graph that `make` builds from placeholders on the GPU, and return the result.

    No op may run on the host. start: the initial value of a variable; its value afterwards is
    returned."""
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(emulated_gpus=[64]))
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        with tf.device("/GPU:0"):
            feeds = [tf.placeholder(value.dtype, value.shape) for value in values]
            variable = (
                []
                if start is None
                else [tf.Variable(tf.placeholder_with_default(start, start.shape))]
            )
            result = make(*variable, *feeds)
        inputs = dict(zip(feeds, values, strict=True))
        session.run(tf.global_variables_initializer())
        report = str(session.explain(result, inputs))
        assert "runs on the host" not in report, report
        found = session.run(result, inputs)
        return session.run(variable[0]) if variable else found
