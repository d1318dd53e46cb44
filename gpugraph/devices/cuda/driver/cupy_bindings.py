"""CuPy's bindings: the only file that imports CuPy.

This module uses only the thin bindings of CUDA's runtime and driver (`cupy_backends.cuda.api`).
CuPy's array library is not imported. This module can be imported even if CuPy is missing or broken.
`PROBLEM` then contains the error message.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from gpugraph.devices.cuda.driver.cuda_statuses import refusal
from gpugraph.devices.cuda.driver.driver_interface import Properties
from gpugraph.devices.cuda.driver.libcuda import version_text

try:
    from cupy_backends.cuda.api import driver as driver, runtime as runtime
except Exception as error:  # a broken wheel may raise anything
    PROBLEM = f"{type(error).__name__}: {error}"
    driver = runtime = None
else:
    PROBLEM = ""

_MULTIPROCESSORS, _MAJOR, _MINOR, _SHARED_BYTES = 16, 75, 76, 97
"""Numbers of the enum cudaDeviceAttr."""


def runtime_version() -> int:
    """Return the version of CuPy's CUDA runtime in CUDA's numbering, where 12090 is 12.9."""
    return int(call("report its version", runtime.runtimeGetVersion))


def call(what: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of CuPy's bindings. If it raises an error, raise a DriverError with CUDA's
    `status` instead.

    Args:
      what: the name of the action, for the message.
    """
    try:
        return function(*arguments)
    except RuntimeError as error:
        raise refusal(what, error) from error


def within(context: int, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function with `context` as the thread's current CUDA context, and restore the previous
    context afterwards.
    """
    previous = driver.ctxGetCurrent()
    if previous == context:
        return function(*arguments)
    driver.ctxSetCurrent(context)
    try:
        return function(*arguments)
    finally:
        driver.ctxSetCurrent(previous)


def repeated(
    what: str, context: int, launch: Callable[[], object], owner: object
) -> Callable[[], None]:
    """Return a callable that calls `launch` with `context` as the current CUDA context.

    Args:
      what: the name of the action, for error messages.
      owner: an object that the callable keeps alive.
    """
    get, enter = driver.ctxGetCurrent, driver.ctxSetCurrent

    def call(_keep_alive: object = owner) -> None:
        try:
            previous = get()
            if previous == context:
                launch()
                return
            enter(context)
            try:
                launch()
            finally:
                enter(previous)
        except RuntimeError as error:
            raise refusal(what, error) from error

    return call


def destroyer(context: int, destroy: Callable[[int], object]) -> Callable[[int], None]:
    """Return a function that destroys an object of a context.

    Finalizers call the function in any thread. They may run when Python has already cleared the
    modules, so the function uses no global name.
    """
    get, enter = driver.ctxGetCurrent, driver.ctxSetCurrent

    def call(handle: int) -> None:
        previous = get()
        enter(context)
        try:
            destroy(handle)
        finally:
            enter(previous)

    return call


def context_of(ordinal: int) -> int:
    """Initialize the context that CUDA's runtime uses for a GPU, and return the context.

    A separate thread does this, because the initialization changes the thread's current GPU.
    """

    def initialize() -> int:
        call(f"use GPU {ordinal}", runtime.setDevice, ordinal)
        call(f"initialize GPU {ordinal}", runtime.free, 0)
        return int(call(f"use GPU {ordinal}", driver.ctxGetCurrent))

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(initialize).result()


def properties_of(ordinal: int) -> Properties:
    """Return the properties of a GPU. The context of this GPU must be the current context."""

    def attribute(number: int) -> int:
        return int(call(what, runtime.deviceGetAttribute, number, ordinal))

    what = f"report the properties of GPU {ordinal}"
    name = call(what, runtime.getDeviceProperties, ordinal)["name"]
    free_bytes, total_bytes = call(what, runtime.memGetInfo)
    others = set(range(call(what, runtime.getDeviceCount))) - {ordinal}
    return Properties(
        ordinal=ordinal,
        name=name.decode() if isinstance(name, bytes) else str(name),
        arch=f"sm_{attribute(_MAJOR)}{attribute(_MINOR)}",
        total_bytes=int(total_bytes),
        free_bytes=int(free_bytes),
        multiprocessors=attribute(_MULTIPROCESSORS),
        shared_bytes=attribute(_SHARED_BYTES),
        bus_id=str(call(what, runtime.deviceGetPCIBusId, ordinal)),
        versions=f"CUDA driver {version_text(call(what, runtime.driverGetVersion))}, "
        f"runtime {version_text(runtime_version())}",
        peers=frozenset(
            other for other in others if call(what, runtime.deviceCanAccessPeer, ordinal, other)
        ),
    )
