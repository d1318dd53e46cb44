"""Copies of views, matrix products and values in and out, on an emulated GPU."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import gpugraph as tf
from gpugraph.base.errors import InternalError, ResourceExhaustedError
from gpugraph.devices import CudaDevice
from gpugraph.devices.cuda import cuda_device
from gpugraph.devices.cuda.driver.driver_interface import DriverError
from gpugraph.devices.cuda.emulation.host_driver import HostMachine
from gpugraph.devices.cuda.launching import matrix_products
from gpugraph.devices.cuda.launching.view_copies import StandIns, copies
from gpugraph.devices.cuda.transfers import pinned_staging
from gpugraph.devices.cuda.transfers.gpu_array import Array
from gpugraph.devices.cuda.transfers.pinned_staging import LARGE
from gpugraph.devices.native import NotNativeError
from gpugraph.kernel import Epilogue, MatmulWithEpilogue, MatrixProducts, ViewCopies
from gpugraph.ops.framework.op_declaration import raw_ops

from ..gpus import gpu, needs_cxx, on_gpu

pytestmark = needs_cxx


@pytest.fixture(scope="module")
def device() -> Iterator[CudaDevice]:
    with closing(gpu()) as made:
        yield made


@pytest.fixture(scope="module")
def without_library() -> Iterator[CudaDevice]:
    with closing(gpu(products=False)) as device:
        yield device


@pytest.fixture(scope="module")
def without_epilogues() -> Iterator[CudaDevice]:
    with closing(gpu(epilogues=False)) as device:
        yield device


def moved(device: CudaDevice, views: Callable[..., Any], *arrays: np.ndarray) -> np.ndarray:
    """Return the last array after the moves between views of the arrays."""
    places = [on_gpu(device, array) for array in arrays]
    device.kernels.moves(ViewCopies(lambda _, *given: views(*given)), None, places)()
    return device.read(places[-1])


def both(device: CudaDevice, views: Callable[..., Any], *arrays: np.ndarray) -> None:
    """Check that the moves give the same as in NumPy."""
    wanted = [array.copy() for array in arrays]
    for source, target in views(*wanted):
        target[...] = source
    np.testing.assert_array_equal(moved(device, views, *arrays), wanted[-1])


def numbers(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(len(shape)).uniform(-9, 9, shape).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.float64, np.complex128, np.float16])
def test_elements_of_any_size_are_copied(device: CudaDevice, dtype: Any) -> None:
    both(
        device,
        lambda x, y: [(x[1:, ::2], y)],
        numbers(5, 7, dtype=dtype),
        numbers(4, 4, dtype=dtype),
    )


@pytest.mark.parametrize(
    "views",
    [
        lambda x, y: [(x.T, y)],
        lambda x, y: [(x.T[:, ::-1], y)],
        lambda x, y: [(0.5, y), (x.T[1:-1, 2:-2], y[1:-1, 2:-2])],
        lambda x, y: [(x[:1, :1], y)],
        lambda x, y: [(x[:, 3], y[5]), (x[:, 4], y[6])],
    ],
)
def test_matrices_are_turned_padded_and_repeated(device: CudaDevice, views: Any) -> None:
    both(device, views, numbers(70, 45), numbers(45, 70))


def test_outer_axes_are_turned_with_their_matrices(device: CudaDevice) -> None:
    both(device, lambda x, y: [(x.transpose(0, 2, 1), y)], numbers(3, 40, 33), numbers(3, 33, 40))
    both(
        device,
        lambda x, y: [(x.transpose(0, 3, 1, 2), y)],
        numbers(2, 6, 5, 16),
        numbers(2, 16, 6, 5),
    )


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_any_views_are_copied_as_numpy_copies_them(device: CudaDevice, data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 4))
    shape = tuple(data.draw(st.integers(1, 5)) for _ in range(rank))
    order = data.draw(st.permutations(range(rank)))
    steps = tuple(slice(None, None, data.draw(st.sampled_from([1, 2, -1]))) for _ in range(rank))
    source = numbers(*shape)
    seen = source.transpose(order)[steps]
    both(
        device,
        lambda x, y: [(x.transpose(order)[steps], y)],
        source,
        np.zeros_like(seen, order="C"),
    )


def test_more_axes_than_a_copy_has_are_refused(device: CudaDevice) -> None:
    x = numbers(*(2,) * 10)
    order = [9, 4, 7, 2, 5, 0, 3, 8, 1, 6]
    with pytest.raises(NotNativeError, match="10 axes"):
        moved(device, lambda x, y: [(x.transpose(order), y)], x, np.zeros_like(x))


def multiplied(device: CudaDevice, views: Callable[..., Any], *arrays: np.ndarray) -> np.ndarray:
    places = [on_gpu(device, array) for array in arrays]
    device.kernels.products(MatrixProducts(lambda _, *given: [views(*given)]), None, places)()
    return device.read(places[-1])


@pytest.mark.parametrize("which", ["device", "without_library"])
@pytest.mark.parametrize(
    ("views", "shapes"),
    [
        (lambda a, b, c: (a, b, c), [(70, 33), (33, 90), (70, 90)]),
        (lambda a, b, c: (a.T, b, c), [(33, 5), (33, 9), (5, 9)]),
        (lambda a, b, c: (a, b.T, c), [(5, 33), (9, 33), (5, 9)]),
        (lambda a, b, c: (a.T, b.T, c), [(1, 5), (9, 1), (5, 9)]),
        (lambda a, b, c: (a, b, c), [(4, 2, 3), (4, 3, 5), (4, 2, 5)]),
        (lambda a, b, c: (np.broadcast_to(a, (4, 2, 3)), b, c), [(2, 3), (4, 3, 5), (4, 2, 5)]),
        (
            lambda a, b, c: (a.transpose(1, 0, 2, 3), b, c),
            [(2, 3, 4, 5), (3, 2, 5, 6), (3, 2, 4, 6)],
        ),
    ],
)
def test_matrices_are_multiplied_whatever_their_strides(
    which: str, views: Any, shapes: Any, request: pytest.FixtureRequest
) -> None:
    arrays = [numbers(*shape) for shape in shapes]
    a, b, _ = views(*arrays)
    result = multiplied(request.getfixturevalue(which), views, *arrays)
    np.testing.assert_allclose(result, np.asarray(a) @ np.asarray(b), rtol=2e-5, atol=1e-4)


FINISHED = [
    ((70, 33), (33, 90)),
    ((3, 2, 5), (3, 5, 7)),
    ((2, 2, 3, 5), (2, 1, 5, 4)),
    ((1, 3), (3, 1)),
    ((4, 6, 5), (5, 7)),
    ((4, 1, 5), (5, 7)),
]


@pytest.mark.parametrize("which", ["device", "without_epilogues", "without_library"])
@pytest.mark.parametrize("shapes", FINISHED)
@pytest.mark.parametrize("finishes", ["bias", "addend", "relu", "bias addend relu"])
def test_what_follows_a_product_is_done_with_it_or_after_it(
    which: str, shapes: Any, finishes: str, request: pytest.FixtureRequest
) -> None:
    device: CudaDevice = request.getfixturevalue(which)
    a, b = (numbers(*shape) for shape in shapes)
    wanted = (a @ b).copy()
    bias, addend = numbers(wanted.shape[-1]), numbers(*wanted.shape)
    wanted += bias * ("bias" in finishes) + addend * ("addend" in finishes)
    wanted = np.maximum(wanted, 0) if "relu" in finishes else wanted
    native = MatmulWithEpilogue(
        MatrixProducts(
            lambda _, a, b, bias, addend, out: [
                (a, np.broadcast_to(b, (*out.shape[:-2], *b.shape[-2:])), out)
            ]
        ),
        lambda _, a, b, bias, addend, out: Epilogue(
            bias if "bias" in finishes else None,
            addend if "addend" in finishes else None,
            "relu" in finishes,
        ),
    )
    places = [on_gpu(device, array) for array in (a, b, bias, addend, np.zeros_like(wanted))]
    result = device.kernels.products(native, None, places)
    result()
    np.testing.assert_allclose(device.read(places[-1]), wanted, rtol=2e-5, atol=1e-3)
    notes = {"device": "", "without_epilogues": "ends in", "without_library": "is computed by"}
    assert [note.split(" kernels")[0] for note in result.notes] == (
        [notes[which]] if notes[which] else []
    )


@pytest.mark.parametrize(
    ("views", "rows", "batch"),
    [
        (lambda a, b, c: (a, np.broadcast_to(b, (4, 5, 7)), c), 24, 1),
        (lambda a, b, c: (a[:, ::2], np.broadcast_to(b, (4, 5, 7)), c[:, :3]), 3, 4),
        (lambda a, b, c: (a[:1], np.broadcast_to(b, (1, 5, 7)), c[:1]), 6, 1),
    ],
)
def test_a_batch_that_shares_a_matrix_is_one_product(
    device: CudaDevice, views: Any, rows: int, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    bound = device.driver.product
    monkeypatch.setattr(
        device.driver,
        "product",
        lambda product, *more: seen.append(product) or bound(product, *more),
    )
    arrays = numbers(4, 6, 5), numbers(5, 7), np.zeros((4, 6, 7), np.float32)
    result = multiplied(device, views, *arrays)
    assert [(product.m, product.batch) for product in seen] == [(rows, batch)]
    a, b, out = views(*arrays)
    out[...] = a @ b
    np.testing.assert_allclose(result, arrays[-1], rtol=2e-5, atol=1e-3)


@pytest.mark.parametrize("which", ["device", "without_epilogues", "without_library"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_no_number_survives_a_product_and_its_relu(
    which: str, dtype: Any, request: pytest.FixtureRequest
) -> None:
    device: CudaDevice = request.getfixturevalue(which)
    a = np.array([[np.nan, 1], [-1, 0], [1, 2]], dtype)
    places = [on_gpu(device, array) for array in (a, np.eye(2, dtype=dtype), np.zeros_like(a))]
    native = MatmulWithEpilogue(
        MatrixProducts(lambda _, *given: [given]), lambda *_: Epilogue(relu=True)
    )
    device.kernels.products(native, None, places)()
    wanted = np.array([[np.nan, np.nan], [0, 0], [1, 2]], dtype)
    np.testing.assert_array_equal(device.read(places[-1]), wanted)


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int32])
def test_our_own_products_are_of_any_dtype(without_library: CudaDevice, dtype: Any) -> None:
    a, b = numbers(20, 30, dtype=dtype), numbers(30, 7, dtype=dtype)
    result = multiplied(without_library, lambda a, b, c: (a, b, c), a, b, np.zeros((20, 7), dtype))
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(result, wanted, rtol=2e-3 if dtype == np.float16 else 1e-12)


# -- values in and out


def test_small_and_large_values_come_back_as_they_went_in(device: CudaDevice) -> None:
    for value in (numbers(3, 4), numbers(LARGE // 4 + 7), np.array(2.5, np.float64)):
        array = on_gpu(device, value)
        np.testing.assert_array_equal(device.read(array), value)


def test_values_that_follow_each_other_do_not_mix() -> None:
    with closing(gpu()) as device:
        array = on_gpu(device, np.zeros(LARGE, np.float32))
        copies = []
        for turn in range(12):
            device.write(array, np.full(LARGE, turn, np.float32))
            copies.append(on_gpu(device, np.zeros(LARGE, np.float32)))
            device.kernels.moves(ViewCopies(lambda _, x, y: [(x, y)]), None, [array, copies[-1]])()
        for turn, copy in enumerate(copies):
            assert (device.read(copy) == turn).all()


def test_pinned_memory_that_is_full_is_waited_for() -> None:
    with closing(gpu()) as device:
        device.staging.pinned = type(device.pinned)(
            device.pinned.sub_allocator, 1 << 20, "small", allow_growth=True
        )
        array = on_gpu(device, np.zeros(1 << 16, np.float32))
        for turn in range(20):
            device.write(array, np.full(1 << 16, turn, np.float32))
        assert (device.read(array) == 19).all()
        larger = np.arange(1 << 20, dtype=np.float32)  # than all pinned memory
        assert (device.read(on_gpu(device, larger)) == larger).all()


def test_another_gpu_gets_what_was_computed_before_and_not_what_comes_after() -> None:
    machine = HostMachine()
    with closing(gpu(machine=machine)) as one, closing(gpu(machine=machine, ordinal=1)) as other:
        source, target = on_gpu(one, numbers(9)), on_gpu(other, np.zeros(9, np.float32))
        copy = other.copy_from(one, source, target)
        one.kernels.moves(ViewCopies(lambda _, x: [(1.0, x)]), None, [source])()
        copy()
        one.kernels.moves(ViewCopies(lambda _, x: [(2.0, x)]), None, [source])()
        assert (other.read(target) == 1).all()
        assert (one.read(source) == 2).all()


# -- failures


@pytest.mark.parametrize("fatal", [False, True])
def test_what_failed_earlier_comes_out_with_a_way_to_find_it(fatal: bool) -> None:
    with closing(gpu()) as device:
        array = on_gpu(device, numbers(3))
        device.read(array)
        device.driver.fail_on(device.compute, DriverError("a kernel went astray", 700, fatal))
        with pytest.raises(DriverError, match=r"went astray.*CUDA_LAUNCH_BLOCKING=1") as caught:
            device.read(array)
        assert ("start anew" in str(caught.value)) == fatal
        assert isinstance(caught.value, InternalError)


def test_memory_that_is_out_says_what_the_gpu_itself_has_left() -> None:
    with closing(gpu()) as device, pytest.raises(ResourceExhaustedError, match="GPU itself has"):
        on_gpu(device, np.zeros(1 << 26, np.float32))


def test_threads_that_bind_kernels_at_the_same_time_share_a_workspace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with closing(gpu()) as device:
        take, meeting = device.take, threading.Barrier(2, timeout=0.2)

        def slow(*inputs: Any) -> Any:
            with suppress(threading.BrokenBarrierError):
                meeting.wait()  # for the other thread, which must not come
            return take(*inputs)

        monkeypatch.setattr(device, "take", slow)
        with ThreadPoolExecutor(2) as pool:
            one, two = pool.map(lambda _: device.kernels, range(2))
        assert one is two and one.workspace[0] == device._workspace.address


def test_what_does_not_broadcast_is_compared_as_on_the_host() -> None:
    with tf.Graph().as_default():
        x, y = tf.placeholder(tf.float32, [3]), tf.placeholder(tf.float32, [2])
        with tf.device("/gpu:0"):
            same = raw_ops.Equal(x, y, incompatible_shape_error=False)
            other = raw_ops.NotEqual(x, y, incompatible_shape_error=False)
        options = tf.GPUOptions(emulated_gpus=1)
        with tf.Session(config=tf.ConfigProto(gpu_options=options)) as session:
            feeds = {x: [1, 2, 3], y: [1, 2]}
            assert "don't broadcast" in str(session.explain([same, other], feeds))
            for _ in range(3):
                assert session.run([same, other], feeds) == [False, True]


def test_values_may_be_larger_than_pinned_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pinned_staging, "MAX_PIECE_BYTES", 1 << 18)
    monkeypatch.setattr(cuda_device, "PINNED_BYTES", 1 << 21)
    value = numbers(1 << 10, 1 << 10)
    with closing(gpu()) as device:
        array = on_gpu(device, value.T)  # not contiguous on the host
        np.testing.assert_array_equal(device.read(array), value.T)
        fetch = device.fetching(array)
        fetch.begin()
        np.testing.assert_array_equal(fetch.read(), value.T)


def test_views_of_arrays_larger_than_the_hosts_memory_have_addresses() -> None:
    array = Array(1 << 20, (1 << 22, 1 << 18), np.float32)  # 4 TiB
    stand_ins = StandIns([array, Array(1 << 50, (4,), np.float32)])
    whole, small = stand_ins.arrays
    assert stand_ins.of(whole[-1, -1:]) == array.address + array.nbytes - 4
    assert stand_ins.of(whole[1:, 2:]) == array.address + (1 << 20) + 8
    assert stand_ins.of(small[1:]) == (1 << 50) + 4
    [copy] = copies(stand_ins, whole[7, :4], small)
    assert copy == (1 << 50, array.address + 7 * (1 << 20), 16)


@pytest.mark.parametrize(("batch", "rows"), [(11, 2), (3, 70), (1, 200)])
def test_products_beyond_a_grid_are_computed_in_parts(
    device: CudaDevice,
    without_library: CudaDevice,
    monkeypatch: pytest.MonkeyPatch,
    batch: int,
    rows: int,
) -> None:
    monkeypatch.setattr(matrix_products, "MAX_BLOCKS", 1)  # a matrix, and a tile of rows
    a, b, bias = numbers(batch, rows, 5), numbers(batch, 5, 3), numbers(3)
    addend = numbers(batch, rows, 3)
    for gpu_device in (device, without_library):
        arrays = [on_gpu(gpu_device, value) for value in (a, b, bias, addend, addend * 0)]
        kernel = MatmulWithEpilogue(
            MatrixProducts(lambda _, a, b, *rest: [(a, b, rest[-1])]),
            lambda _, a, b, bias, addend, out: Epilogue(bias=bias, addend=addend),
        )
        step = gpu_device.kernels.products(kernel, None, arrays)
        step()
        np.testing.assert_allclose(gpu_device.read(arrays[-1]), a @ b + bias + addend, 1e-4, 1e-4)
