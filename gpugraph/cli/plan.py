"""`gpugraph plan PROGRAM --gpus 8 --memory 24GiB`: forecasts the memory and time of a program on
other devices.

The program runs unchanged, on virtual GPUs with the requested memory. The program's session runs
are only compiled: no step computes anything, and no tensor is allocated. For each run that the
program requests, the command prints the memory on each device, the transfers, and the time and
critical path that a cost model predicts.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

from gpugraph.cli.program_process import (
    ProgramFile,
    add_program,
    answer_imports,
    listen,
    positive_number,
    run_program,
)
from gpugraph.compile import Target
from gpugraph.config import SessionOptions
from gpugraph.devices.device_factory import DeviceFactory
from gpugraph.inspection.step_forecast import StepForecast, short_device
from gpugraph.library.summary.event_file_writer import EventFileWriter
from gpugraph.library.train.savers.saver import Saver
from gpugraph.memory import human_readable_bytes
from gpugraph.plan import GraphRecord
from gpugraph.session.rehearsal import REHEARSALS

_UNITS = {"": 1 << 20, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def add_plan(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `plan` and its arguments to the parser."""
    plan = commands.add_parser(
        "plan", help="forecast the memory, transfers and time of a program's steps on other devices"
    )
    _add_machine(plan)
    add_program(plan)
    plan.set_defaults(command=plan_command, parser=plan)


def _add_machine(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--gpus", type=positive_number, help="the number of GPUs (1)")
    parser.add_argument("--memory", type=memory_size, help="of each GPU, such as 24GiB (16GiB)")


def _take_options(options: argparse.Namespace) -> None:
    """Set `options.gpus` and `options.memory`. These options may be written before or after the
    program's name. If an option is written in both places, the second one is an argument of the
    program.
    """
    machine, after = argparse.ArgumentParser(add_help=False), options.arguments
    machine.error = options.parser.error  # type: ignore[method-assign]
    _add_machine(machine)
    names = {f"--{name}" for name in ("gpus", "memory") if getattr(options, name) is None}
    while after and after[0].partition("=")[0] in names:
        name, equals, _ = after[0].partition("=")
        count = 1 if equals else 2
        machine.parse_args(after[:count], options)
        names.remove(name)
        del after[:count]
    if after[:1] == ["--"]:
        del after[0]
    options.gpus, options.memory = options.gpus or 1, options.memory or 16 << 30


def memory_size(text: str) -> int:
    """Return the number of bytes for a size such as 24GiB or 512M. A number without a unit is in
    MiB.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if match is None or not float(match[1]):
        raise argparse.ArgumentTypeError(f"it is a size such as 24GiB or 512MiB, not {text!r}")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def plan_command(options: argparse.Namespace) -> int:
    """Run the program without computing, print the forecasts on standard error, and return the
    program's exit status.
    """
    _take_options(options)
    count = 0
    variables: dict[tuple[str, str], int] = {}
    beside: dict[str, tuple[int, int]] = {}

    def show(title: str, target: Target, record: GraphRecord) -> None:
        nonlocal count
        count += 1
        forecast = StepForecast(record)
        gpus = [device.name for device in target.devices if device.device_type == "GPU"]
        limits = dict.fromkeys(gpus, options.memory)
        variables.update(forecast.variables)
        for name, device in forecast.devices.items():
            held = _held(forecast.variables, name)
            beside[name] = max(beside.get(name, (0, 0)), (device.peak - held, count))
        sys.stdout.flush()  # the program's earlier output comes first
        text = forecast.text(limits)
        print(f"-- step {count}: {title}\n{text}\n", file=sys.stderr, flush=True)

    program = ProgramFile.of(options)
    try:
        with (
            answer_imports(program),
            _virtual_gpus(options.gpus, options.memory),
            _without_files(),
            listen(REHEARSALS, show),
        ):
            return run_program(program)
    finally:
        print(f"-- the program, in {count} steps", file=sys.stderr)
        for name, (peak, number) in sorted(beside.items()):
            held = _held(variables, name)
            print(_device_line(name, held, peak, number, options.memory), file=sys.stderr)


def _held(variables: dict[tuple[str, str], int], device: str) -> int:
    """Return the number of bytes of all variables on a device."""
    return sum(size for (place, _), size in variables.items() if place == device)


def _device_line(name: str, held: int, beside: int, step: int, memory: int) -> str:
    """Return the line about a device: the size of its variables, and the memory of the largest run
    in addition to them.
    """
    total, is_gpu = held + beside, "GPU" in name
    room = f" of {human_readable_bytes(memory)}" if is_gpu else ""
    fits = ", does not fit" if is_gpu and total > memory else ""
    return (
        f"{short_device(name)}: {human_readable_bytes(total)}{room}: variables "
        f"{human_readable_bytes(held)}, beside them {human_readable_bytes(beside)} in step "
        f"{step}{fits}"
    )


class _VirtualGpus:
    """A device factory that creates virtual GPUs for sessions that do not request any
    themselves.
    """

    def __init__(self, factory: Any, gpus: int, memory: int) -> None:
        self._factory, self._limits = factory, [max(memory >> 20, 1)] * gpus

    def create_devices(self, options: SessionOptions, name_prefix: str) -> Any:
        """Create the devices of a session."""
        gpu_options = options.config.gpu_options
        if not gpu_options.virtual_gpus and not gpu_options.emulated_gpus:
            config = type(options.config)()
            config.CopyFrom(options.config)
            config.gpu_options.virtual_gpus = self._limits
            options = SessionOptions(options.target, config)
        return self._factory.create_devices(options, name_prefix)


@contextmanager
def _virtual_gpus(gpus: int, memory: int) -> Iterator[None]:
    factory, priority = DeviceFactory.get_factory("GPU"), DeviceFactory.device_priority("GPU")
    assert factory is not None
    DeviceFactory.register("GPU", _VirtualGpus(factory, gpus, memory), priority + 1)
    try:
        yield
    finally:
        DeviceFactory.unregister("GPU")
        DeviceFactory.register("GPU", factory, priority)


@contextmanager
def _without_files() -> Iterator[None]:
    """Within a `with` block, prevent the writing of checkpoints, and write event files to a
    temporary folder, because no step computes any values.
    """
    save, open_file = Saver.save, EventFileWriter._open

    def unsaved(saver: Any, sess: Any, save_path: str, *args: Any, **kwargs: Any) -> str:
        return save_path

    def open_elsewhere(writer: Any) -> None:
        logdir, writer._logdir = writer._logdir, folder
        open_file(writer)
        writer._logdir = logdir

    with TemporaryDirectory() as folder:
        Saver.save = unsaved  # type: ignore[method-assign,assignment]
        EventFileWriter._open = open_elsewhere  # type: ignore[method-assign,assignment]
        try:
            yield
        finally:
            Saver.save = save  # type: ignore[method-assign]
            EventFileWriter._open = open_file  # type: ignore[method-assign]
