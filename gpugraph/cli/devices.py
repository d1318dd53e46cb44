"""`gpugraph devices`: lists the devices that a session would have."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

from gpugraph.base.errors import OpError
from gpugraph.cli.program_process import gpu_count
from gpugraph.cli.results import Results, add_results
from gpugraph.config import ConfigProto, GPUOptions, SessionOptions
from gpugraph.devices import list_local_devices, no_gpu_reason, unusable_gpus
from gpugraph.devices.codegen.c_compiler import compiler
from gpugraph.devices.native import runtime_reason
from gpugraph.memory import human_readable_bytes


def add_devices(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `devices` and its arguments to the parser."""
    devices = commands.add_parser("devices", help="list the devices that a session would have")
    devices.add_argument(
        "--virtual-gpus", type=gpu_count, default=0, help="GPUs emulated by the host"
    )
    add_results(devices)
    devices.set_defaults(command=devices_command)


def devices_command(options: argparse.Namespace) -> int:
    """Print the devices and the compiler of native code, and return the exit status.

    If there is no GPU or no native code, also print the reason. The status is 2 if a setting in the
    environment is invalid or a GPU can't be opened.
    """
    config = ConfigProto(gpu_options=GPUOptions(virtual_gpus=options.virtual_gpus))
    try:
        devices = list_local_devices(config)
        record = {
            "devices": [_device_record(device) for device in devices],
            "left_out": [] if options.virtual_gpus else list(unusable_gpus()),
            "no_gpu": no_gpu_reason(SessionOptions("", config)),
            "no_native_code": (runtime_reason(wait=True) or "").partition("\n")[0],
            "compiler": compiler().status()._asdict(),
        }
    except (
        OpError
    ) as error:  # The cause is a setting in the environment, or a GPU that can't be opened.
        print(f"gpugraph: {error}", file=sys.stderr)
        return 2
    return 0 if Results.of(options).write(_texts(record), lambda: record) else 2


def _device_record(device: Any) -> dict[str, Any]:
    return {
        "name": device.name,
        "device_type": device.device_type,
        "memory_limit": device.memory_limit_bytes,
        "description": device.physical_device_desc,
    }


def _texts(record: dict[str, Any]) -> Iterator[str]:
    for device in record["devices"]:
        limit = human_readable_bytes(device["memory_limit"])
        yield f"{device['name']}  {device['device_type']}  {limit}  {device['description']}"
    yield from (f"left out: {sentence}" for sentence in record["left_out"])
    if record["no_gpu"]:
        yield f"no GPU: {record['no_gpu']}"
    compiled = record["compiler"]
    if record["no_native_code"]:
        yield f"no native code: {record['no_native_code']}"
    else:
        version = f", {compiled['version']}" if compiled["version"] else ""
        yield f"native code: by {compiled['path']}{version}; kept in {compiled['folder']}"
