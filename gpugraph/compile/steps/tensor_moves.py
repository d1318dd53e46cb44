"""Moves: from the storage of one tensor to that of another on the same device, when called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.compile.steps.kernel_context import Cell, Place
from gpugraph.compile.steps.plan_arrays import Arrays
from gpugraph.compile.unit.compile_unit import Home
from gpugraph.devices import Device
from gpugraph.plan import Run


def move(arrays: Arrays, device: Device, source: Place, target: Place, take: bool = False) -> Run:
    """What copies a tensor. With `take`, nobody needs the source afterwards."""
    (_, home), (_, target_home) = source, target
    read = arrays.source(*source)
    if target_home.storage.kind == "cell":
        cell = arrays.cell(target_home.storage)
        if home.storage.kind == "cell" and home.storage.node is None and take:
            return _taking(arrays.cell(home.storage), cell)
        return _filling(device, read, cell, target_home)
    result = arrays.array(target_home)
    if home.storage.kind == "cell":
        return lambda: device.copy_from(device, read(), result)()
    if target_home.storage.kind == "object":
        return _referring(arrays.array(home), result)
    return device.copy_from(device, arrays.array(home), result)


def do_nothing() -> None:
    """Moves a tensor that is in its storage already."""


def _taking(source: Cell, target: Cell) -> Run:
    def take() -> None:
        source.array  # noqa: B018 - an error if there is none
        block, source.block = source.block, None
        assert block is not None
        target.fill(block)

    return take


def _filling(device: Device, read: Callable[[], Any], cell: Cell, home: Home) -> Run:
    def fill() -> None:
        array = read()
        block = device.allocate(tuple(array.shape), home.dtype, cell.name)
        device.copy_from(device, array, block.array)()
        cell.fill(block)

    return fill


def _referring(handle: Any, result: Any) -> Run:
    def refer() -> None:
        result[()] = handle[()]

    return refer
