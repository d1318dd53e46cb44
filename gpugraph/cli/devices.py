"""`gpugraph devices`: lists the devices that a session would have."""

from __future__ import annotations

import argparse
import sys

from gpugraph.base.errors import OpError
from gpugraph.config import ConfigProto, GPUOptions, SessionOptions
from gpugraph.devices import list_local_devices, no_gpu_reason, unusable_gpus
from gpugraph.devices.native import runtime_reason
from gpugraph.memory import human_readable_bytes


def add_devices(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `devices` and its arguments to the parser."""
    devices = commands.add_parser("devices", help="list the devices that a session would have")
    devices.add_argument("--virtual-gpus", type=_count, default=0, help="GPUs emulated by the host")
    devices.set_defaults(command=devices_command)


def _count(text: str) -> int:
    if text.isdecimal():
        return int(text)
    raise argparse.ArgumentTypeError(f"a number of GPUs is 0 or more, but it is {text!r}")


def devices_command(options: argparse.Namespace) -> int:
    """Print the devices and return the exit status. If there is no GPU or no native code, also
    print the reason.

    The status is 2 if a setting in the environment is invalid or a GPU can't be opened.
    """
    config = ConfigProto(gpu_options=GPUOptions(virtual_gpus=options.virtual_gpus))
    try:
        devices = list_local_devices(config)
        why = no_gpu_reason(SessionOptions("", config))
        plain = runtime_reason(wait=True)
        left_out = () if options.virtual_gpus else unusable_gpus()
    except (
        OpError
    ) as error:  # The cause is a setting in the environment, or a GPU that can't be opened.
        print(f"gpugraph: {error}", file=sys.stderr)
        return 2
    for device in devices:
        limit = human_readable_bytes(device.memory_limit_bytes)
        print(f"{device.name}  {device.device_type}  {limit}  {device.physical_device_desc}")
    for sentence in left_out:
        print(f"left out: {sentence}")
    if why:
        print(f"no GPU: {why}")
    if plain:
        print("no native code: " + plain.partition("\n")[0])
    return 0
