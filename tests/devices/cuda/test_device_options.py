"""Which devices the options of a session make of the GPUs that are there."""

from __future__ import annotations

from typing import Any

import pytest

import gpugraph as tf
from gpugraph.devices import DeviceFactory
from gpugraph.devices.cuda import device_options as factory
from gpugraph.devices.cuda.detection.gpu_detection import Detection
from gpugraph.devices.cuda.device_options import create_cuda_devices, splits
from gpugraph.devices.cuda.driver.cupy_driver import CupyDriver
from gpugraph.devices.cuda.driver.libcuda import Gpu

from .fake_cupy import FakeCuPy

GIB = 1 << 30
FREE, TOTAL = 10 * GIB, 16 * GIB
_NO_SIZES = [(float("inf"), "inf"), (float("nan"), "nan")]


def made(
    gpus: int = 2,
    free: int = FREE,
    device_count: dict[str, int] | None = None,
    parts: list[list[float]] | None = None,
    **settings: Any,
) -> list[tuple[int, int, int]]:
    options = tf.GPUOptions(**settings)
    for limits in parts or []:
        kind = tf.GPUOptions.Experimental.VirtualDevices
        options.experimental.virtual_devices.append(kind(memory_limit_mb=limits))
    config = tf.ConfigProto(gpu_options=options, device_count=device_count or {})
    result = splits(tf.SessionOptions("", config), range(gpus), lambda ordinal: (free, TOTAL))
    return [tuple(split) for split in result]


def limit_of(free: int) -> int:
    return made(1, free)[0][1]


def test_each_gpu_is_a_device() -> None:
    assert [split[::2] for split in made(3)] == [(0, 0), (1, 1), (2, 2)]
    assert made(0) == []


def test_what_is_free_is_used_but_for_a_reserve() -> None:
    mib = 1 << 20
    assert limit_of(FREE) == FREE - int(0.05 * FREE)
    assert limit_of(4 * GIB) == 4 * GIB - 300 * mib
    assert limit_of(2 * GIB) == 2 * GIB - 300 * mib
    assert limit_of(2 * GIB - 1) == 2 * GIB - 1 - 225 * mib
    assert limit_of(100 * mib) == 100 * mib


def test_a_fraction_is_one_of_all_memory() -> None:
    assert made(1, per_process_gpu_memory_fraction=0.25) == [(0, TOTAL // 4, 0)]


@pytest.mark.parametrize("fraction", [-0.1, 1.5, float("inf"), float("nan")])
def test_a_fraction_that_is_none_is_refused(fraction: float) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"memory_fraction is {fraction}"):
        made(per_process_gpu_memory_fraction=fraction)


def test_a_count_caps_their_number() -> None:
    assert [split[0] for split in made(3, device_count={"GPU": 2})] == [0, 1]
    assert made(3, device_count={"GPU": 0}, visible_device_list="nonsense") == []


def test_a_list_chooses_and_orders_them() -> None:
    assert [split[::2] for split in made(3, visible_device_list="2,0")] == [(2, 0), (0, 1)]
    assert [split[0] for split in made(3, visible_device_list="2,0", device_count={"GPU": 1})] == [
        2
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0,abc", "could not parse entry 'abc'"),
        ("0,,1", "could not parse entry ''"),
        ("0,2", "there is no GPU 2 that can be used, only: 0, 1"),
        ("-1", "there is no GPU -1"),
        ("1,0,1", "GPU 1 is in it twice"),
    ],
)
def test_a_list_that_is_wrong_is_refused(text: str, says: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"is '{text}': .*{says}"):
        made(visible_device_list=text)


def test_gpus_are_divided() -> None:
    mib = 1 << 20
    assert made(1, parts=[[123, 456.7]]) == [(0, 123 * mib, 0), (0, 456 * mib, 1)]
    assert made(2, parts=[[100, 200], [300]]) == [
        (0, 100 * mib, 0),
        (0, 200 * mib, 1),
        (1, 300 * mib, 2),
    ]
    assert made(2, parts=[[100], []])[1] == (1, limit_of(FREE), 1)
    assert [s[0] for s in made(2, parts=[[1], [2]], visible_device_list="1,0")] == [1, 0]


@pytest.mark.parametrize(
    ("settings", "error", "says"),
    [
        (
            {"per_process_gpu_memory_fraction": 0.3, "parts": [[1], [1]]},
            tf.errors.InvalidArgumentError,
            "combined with per_process_gpu_memory_fraction",
        ),
        ({"parts": [[1], [1], [1]]}, tf.errors.UnknownError, "3 GPUs, but only 2 can be used"),
        (
            {"parts": [[1], [1]], "device_count": {"GPU": 1}},
            tf.errors.UnknownError,
            "2 GPUs, but only 1 can be used",
        ),
        (
            {"parts": [[1]], "visible_device_list": "0,1"},
            tf.errors.InvalidArgumentError,
            r"\('0,1'\) has 2",
        ),
        ({"parts": [[1]]}, tf.errors.UnknownError, "1 GPUs, but there are 2"),
        *(
            (
                {"parts": [[1], [size]]},
                tf.errors.InvalidArgumentError,
                f"a memory_limit_mb of {text}",
            )
            for size, text in [(0, "0"), (-5, "-5"), (0.5, "0.5"), (1e30, "1e"), *_NO_SIZES]
        ),
        ({"allocator_type": "managed"}, tf.errors.InvalidArgumentError, "'managed'; GPUs have"),
    ],
)
def test_what_contradicts_itself_is_refused(
    settings: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        made(**settings)


@pytest.mark.parametrize(
    ("growth", "forced", "at_once"),
    [(True, None, False), (False, None, False), (True, "false", True), (False, "true", False)],
)
def test_memory_is_taken_as_needed_unless_the_environment_forbids(
    monkeypatch: pytest.MonkeyPatch, growth: bool, forced: str | None, at_once: bool
) -> None:
    if forced is not None:
        monkeypatch.setenv("TF_FORCE_GPU_ALLOW_GROWTH", forced)
    options = tf.GPUOptions(emulated_gpus=[64], allow_growth=growth)
    devices = DeviceFactory.add_devices(
        tf.SessionOptions("", tf.ConfigProto(gpu_options=options)), "/job:a"
    )
    try:
        block = devices[1].allocate((1000,), tf.float32, "little")
        reserved = devices[1].allocator.get_stats().bytes_reserved
        assert reserved == 64 << 20 if at_once else reserved <= 2 << 20
        block.release()
    finally:
        for device in devices:
            device.close()


def test_bfc_by_its_name_is_what_there_is() -> None:
    assert made(allocator_type="BFC") == made()


# -- the devices themselves


class Opened(CupyDriver):
    """Notes that it was closed."""

    all: list[Opened] = []  # noqa: RUF012

    def __init__(self, ordinal: int) -> None:
        super().__init__(ordinal, lambda text, arch, name: b"")
        self.is_open = True
        self.all.append(self)

    def close(self) -> None:
        super().close()
        self.is_open = False


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> FakeCuPy:
    """Two fake GPUs."""
    gpus = tuple(Gpu(ordinal, "Fake H100", (9, 0), TOTAL, "0") for ordinal in range(2))
    monkeypatch.setattr(factory, "detect", lambda: Detection(gpus))
    monkeypatch.setattr(factory, "open_driver", Opened)
    monkeypatch.setattr(Opened, "all", [])
    return FakeCuPy().install(monkeypatch)


def options(**settings: Any) -> tf.SessionOptions:
    return tf.SessionOptions("", tf.ConfigProto(**settings))


def test_the_devices_of_a_session_are_made(cupy: FakeCuPy) -> None:
    devices = create_cuda_devices(options(), "/job:a")
    assert [device.name for device in devices] == ["/job:a/device:GPU:0", "/job:a/device:GPU:1"]
    assert [device.driver.properties.ordinal for device in devices] == [0, 1]
    assert devices[0].attributes.memory_limit_bytes == 3 * GIB - 300 * (1 << 20)
    assert [device.allocator.name for device in devices] == ["GPU_0_bfc", "GPU_1_bfc"]
    assert len(Opened.all) == 2
    for device in devices:
        device.close()
    assert not any(driver.is_open for driver in Opened.all)


def test_memory_is_taken_as_it_is_needed(cupy: FakeCuPy) -> None:
    """So that the next session of this process finds some."""
    device, other = create_cuda_devices(options(), "")
    cupy.calls.clear()
    block = device.allocate((1000,), tf.float32, "tensor")
    assert [size for _, size in cupy.told("malloc")] == [1 << 20]
    block.release()
    device.close()
    other.close()
    assert set(cupy.live.values()) == {"event"}  # which go with the devices


def test_parts_of_a_gpu_have_drivers_of_their_own(cupy: FakeCuPy) -> None:
    kind = tf.GPUOptions.Experimental.VirtualDevices
    gpu_options = tf.GPUOptions(visible_device_list="1")
    gpu_options.experimental.virtual_devices.append(kind(memory_limit_mb=[64, 64]))
    devices = create_cuda_devices(options(gpu_options=gpu_options), "")
    assert [device.driver.properties.ordinal for device in devices] == [1, 1]
    assert devices[0].driver is not devices[1].driver
    for device in devices:
        device.close()


def test_none_are_made_where_none_are_asked_for(
    cupy: FakeCuPy, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert create_cuda_devices(options(device_count={"GPU": 0}), "") == []
    assert Opened.all == []
    monkeypatch.setattr(factory, "detect", Detection)
    assert create_cuda_devices(options(), "") == []


def test_a_gpu_lost_meanwhile_closes_the_others(
    cupy: FakeCuPy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def second_fails(ordinal: int) -> CupyDriver:
        if ordinal == 1:
            cupy.failures["setDevice"] = 46
        return Opened(ordinal)

    monkeypatch.setattr(factory, "open_driver", second_fails)
    with pytest.raises(tf.errors.InternalError, match=r"A GPU can't be used: .*use GPU 1"):
        create_cuda_devices(options(), "")
    assert [driver.is_open for driver in Opened.all] == [False]


def test_the_gpu_factory_of_the_registry_makes_them(cupy: FakeCuPy) -> None:
    registered: Any = DeviceFactory.get_factory("GPU")
    devices = registered.create_devices(options(), "/job:b")
    assert [device.name for device in devices] == ["/job:b/device:GPU:0", "/job:b/device:GPU:1"]
    for device in devices:
        device.close()
