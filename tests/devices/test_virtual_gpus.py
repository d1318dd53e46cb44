"""Virtual GPUs: devices of type GPU with memory of their own on the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.devices import CPUDevice, DeviceFactory, VirtualGPUDevice, no_gpu_reason


def made(**settings: Any) -> list[VirtualGPUDevice]:
    factory: Any = DeviceFactory.get_factory("GPU")
    options = tf.SessionOptions("", tf.ConfigProto(**settings))
    result: list[VirtualGPUDevice] = factory.create_devices(options, "/job:a")
    return result


def test_none_is_made_unasked() -> None:
    assert made() == []
    assert "virtual_gpus=1" in no_gpu_reason(tf.SessionOptions())


def test_each_has_the_memory_it_was_given() -> None:
    devices = made(gpu_options=tf.GPUOptions(virtual_gpus=[123, 456]))
    assert [device.name for device in devices] == ["/job:a/device:GPU:0", "/job:a/device:GPU:1"]
    limits = [device.attributes.memory_limit_bytes for device in devices]
    assert limits == [123 << 20, 456 << 20]
    assert [device.allocator.get_stats().bytes_limit for device in devices] == limits
    assert all(device.device_type == "GPU" for device in devices)


@pytest.mark.parametrize(
    "value", [-1, [-5], 1.5, True, "3", [float("inf")], 2**20, [2**43], [1, 2**80]]
)
def test_numbers_and_sizes_that_can_not_be(value: Any) -> None:
    with pytest.raises(ValueError, match=r"GPUOptions\.virtual_gpus"):
        tf.GPUOptions(virtual_gpus=value)


def test_a_gpu_without_memory_refuses_each_tensor() -> None:
    with tf.Graph().as_default(), tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [2], name="x")
        y = x + 1.0
        config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=[0]))
        with tf.Session(config=config) as session:
            for _ in range(2):
                with pytest.raises(tf.errors.ResourceExhaustedError, match="limit 0 bytes"):
                    session.run(y, {x: [1.0, 2.0]})
            with tf.device("/cpu:0"):
                z = x * 2.0
            assert session.run(z, {x: [1.0, 2.0]}).tolist() == [2.0, 4.0]


def test_device_count_caps_their_number() -> None:
    options = tf.GPUOptions(virtual_gpus=3)
    assert len(made(gpu_options=options, device_count={"GPU": 2})) == 2
    assert len(made(gpu_options=options, device_count={"GPU": 9})) == 3
    assert made(gpu_options=options, device_count={"GPU": 0}) == []
    config = tf.ConfigProto(gpu_options=options, device_count={"GPU": 0})
    assert "device_count" in no_gpu_reason(tf.SessionOptions("", config))


def test_memory_runs_out_with_figures_and_owner() -> None:
    (gpu,) = made(gpu_options=tf.GPUOptions(virtual_gpus=[1]))
    kept = [gpu.allocate((1 << 16,), tf.float32, f"tensor_{number}") for number in range(3)]
    with pytest.raises(tf.errors.ResourceExhaustedError) as caught:
        gpu.allocate((1 << 17,), tf.float32, "much/too_much")
    message = caught.value.message
    for part in (
        "524288 bytes",
        "[131072]",
        "'much/too_much'",
        "/job:a/device:GPU:0",
        "GPU_0_bfc",
        f"{3 << 18} bytes in use",
        f"limit {1 << 20} bytes",
        f"largest hole {1 << 18} bytes",
    ):
        assert part in message
    kept.pop().release()
    gpu.allocate((1 << 17,), tf.float32, "much/enough")


def test_memory_held_for_later_is_given_up_first() -> None:
    (gpu,) = made(gpu_options=tf.GPUOptions(virtual_gpus=[1]))
    held = [gpu.allocate((120_000,), tf.float32, "held")]
    asked = []

    def reclaim() -> bool:
        asked.append(len(held))
        for block in held:
            block.release()
        return bool(held)

    gpu.reclaim = reclaim
    gpu.allocate((100,), tf.float32, "little").release()
    assert asked == []
    much = gpu.allocate((150_000,), tf.float32, "much")
    assert asked == [1] and much.array is not None
    held.clear()
    with pytest.raises(tf.errors.ResourceExhaustedError, match=r"585\.9KiB  'much'"):
        gpu.allocate((150_000,), tf.float32, "more")


def test_memory_is_freed_with_the_last_reference_to_its_block() -> None:
    (gpu,) = made(gpu_options=tf.GPUOptions(virtual_gpus=[1]))
    block = gpu.allocate((1000,), tf.float32, "one")
    also = block
    del block
    assert gpu.allocator.get_stats().bytes_in_use == 4096
    del also
    assert gpu.allocator.get_stats().bytes_in_use == 0
    assert gpu.owners == {}


def test_a_kernel_with_foreign_memory_is_refused() -> None:
    (gpu,) = made(gpu_options=tf.GPUOptions(virtual_gpus=[1]))
    cpu = CPUDevice("/device:CPU:0")
    block, theirs = gpu.allocate((4,), tf.float32, "own"), cpu.allocate((4,), tf.float32, "cpu's")
    own = block.array
    kernel = tf.Call(np.negative)

    class Context:
        name = "negated"
        on_host: frozenset[int] = frozenset()
        input_types = output_types = (tf.float32,)

    context: Any = Context()
    own[:] = 1
    gpu.bind(kernel, context, [own, own])()
    np.testing.assert_array_equal(own, [-1] * 4)
    for foreign in (np.zeros(4, np.float32), theirs.array):
        with pytest.raises(tf.errors.InternalError, match=r"'negated'.*GPU:0.*argument 1"):
            gpu.bind(kernel, context, [own, foreign])
    gpu.bind(kernel, context, [own[:0], np.zeros(0, np.float32)])()


def test_constants_are_copied_to_it() -> None:
    (gpu,) = made(gpu_options=tf.GPUOptions(virtual_gpus=[1]))
    assert gpu.constant(np.zeros(3)) is None


def test_a_program_runs_there_with_the_cpu_s_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUGRAPH_NATIVE", "0")
    value = np.random.RandomState(0).randn(20, 30).astype(np.float32)
    results = []
    for device in ("/cpu:0", "/gpu:0", "/gpu:1"):
        with tf.Graph().as_default() as graph, tf.device(device):
            x = tf.placeholder(tf.float32, [20, 30])
            y = tf.tanh(tf.matmul(x, x, transpose_b=True))
        config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=2))
        with tf.Session(graph=graph, config=config) as session:
            results.append(session.run(y, {x: value}))
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("per_process_gpu_memory_fraction", 0.5),
        ("allocator_type", "cuda_malloc"),
        ("visible_device_list", "0"),
        (
            "experimental",
            tf.GPUOptions.Experimental(
                virtual_devices=[tf.GPUOptions.Experimental.VirtualDevices(memory_limit_mb=[64])]
            ),
        ),
    ],
)
def test_what_has_no_meaning_beside_them_is_refused(field: str, value: Any) -> None:
    assert made(gpu_options=tf.GPUOptions(**{field: value})) == []  # no GPU, no message
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=[64], **{field: value}))
    with tf.Graph().as_default(), pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.Session(config=config)
    assert field in caught.value.message and "combined with" in caught.value.message


def test_what_they_do_anyway_may_be_asked_for() -> None:
    options = tf.GPUOptions(virtual_gpus=[64], allow_growth=True, allocator_type="BFC")
    assert len(made(gpu_options=options)) == 1
