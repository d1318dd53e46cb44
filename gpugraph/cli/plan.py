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
from typing import Any

from gpugraph.base.whole_files import discarded_writes
from gpugraph.cli.program_process import (
    ProgramFile,
    add_program,
    answer_imports,
    listen,
    positive_number,
    run_and_write,
)
from gpugraph.cli.results import Results, add_results
from gpugraph.compile import Target
from gpugraph.config import SessionOptions
from gpugraph.devices.device_factory import DeviceFactory
from gpugraph.inspection.step_forecast import StepForecast, short_device
from gpugraph.memory import human_readable_bytes
from gpugraph.plan import GraphRecord
from gpugraph.session.rehearsal import REHEARSALS

_UNITS = {"": 1 << 20, "B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def add_plan(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `plan` and its arguments to the parser."""
    plan = commands.add_parser(
        "plan", help="forecast the memory, transfers and time of a program's steps on other devices"
    )
    _add_machine(plan)
    add_results(plan)
    add_program(plan)
    plan.set_defaults(command=plan_command, parser=plan)


def _add_machine(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--gpus", type=positive_number, help="the number of GPUs (1)")
    parser.add_argument(
        "--memory", type=memory_size, help="of each GPU, such as 24GiB (16GiB); a number is in MiB"
    )


def _take_options(options: argparse.Namespace) -> None:
    """Set `options.gpus` and `options.memory`. Both options may also follow the program's name
    directly. If an option follows the name, a note on standard error names this option. If an
    option occurs both before and after the program's name, the second occurrence is an argument of
    the program.
    """
    machine, after = argparse.ArgumentParser(add_help=False), options.arguments
    machine.error = options.parser.error  # type: ignore[method-assign]
    _add_machine(machine)
    late: list[str] = []
    names = {f"--{name}" for name in ("gpus", "memory") if getattr(options, name) is None}
    while after and after[0].partition("=")[0] in names:
        name, equals, _ = after[0].partition("=")
        count = 1 if equals else 2
        machine.parse_args(after[:count], options)
        names.remove(name)
        late.append(name)
        del after[:count]
    if late:
        verb = "is an option" if len(late) == 1 else "are options"
        print(
            f"gpugraph: {', '.join(late)} after {options.program} {verb} of `gpugraph plan`; "
            "options of the program follow --",
            file=sys.stderr,
        )
    if after[:1] == ["--"]:
        del after[0]
    options.gpus, options.memory = options.gpus or 1, options.memory or 16 << 30


def memory_size(text: str) -> int:
    """Return the number of bytes for a size such as 24GiB or 512M. A number without a unit is in
    MiB.
    """
    form = r"(\d+(?:\.\d+)?)\s*(?:(B)|([KMGT])(?:i?B)?)?"
    match = re.fullmatch(form, text.strip(), re.IGNORECASE)
    if match is None or not float(match[1]):
        raise argparse.ArgumentTypeError(f"it is a size such as 24GiB or 512MiB, not {text!r}")
    return int(float(match[1]) * _UNITS[(match[2] or match[3] or "").upper()])


def plan_command(options: argparse.Namespace) -> int:
    """Run the program without computing, write the forecasts, and return the program's exit
    status.
    """
    _take_options(options)
    program, seen = ProgramFile.of(options), _Forecasts(options.memory)
    with (
        answer_imports(program),
        _virtual_gpus(options.gpus, options.memory),
        discarded_writes(),
        listen(REHEARSALS, seen.add),
    ):
        return run_and_write(program, lambda: Results.of(options).write(seen.texts(), seen.record))


class _Forecasts:
    """The forecasts of a program's steps.

    Args:
      memory: the bytes of each GPU.
    """

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._steps: list[tuple[str, StepForecast, dict[str, int]]] = []
        self._variables: dict[tuple[str, str], int] = {}
        self._beside: dict[str, tuple[int, int]] = {}

    def add(self, title: str, target: Target, record: GraphRecord) -> None:
        """Forecast a step."""
        forecast = StepForecast(record)
        gpus = [device.name for device in target.devices if device.device_type == "GPU"]
        self._steps.append((title, forecast, dict.fromkeys(gpus, self._memory)))
        self._variables.update(forecast.variables)
        for name, device in forecast.devices.items():
            peak = device.peak - _held(forecast.variables, name)
            self._beside[name] = max(self._beside.get(name, (0, 0)), (peak, len(self._steps)))

    def texts(self) -> Iterator[str]:
        """Yield the text of each step, and of the program."""
        for number, (title, forecast, limits) in enumerate(self._steps, 1):
            yield f"-- step {number}: {title}\n{forecast.text(limits)}\n"
        yield f"-- the program, in {len(self._steps)} steps"
        for name, (peak, number) in sorted(self._beside.items()):
            yield _device_line(name, _held(self._variables, name), peak, number, self._memory)

    def record(self) -> dict[str, Any]:
        """Return the forecasts as a record for JSON."""
        devices = [
            {
                "device": name,
                "variables": _held(self._variables, name),
                "beside": peak,
                "step": step,
            }
            for name, (peak, step) in sorted(self._beside.items())
        ]
        steps = [
            {
                "step": title,
                "seconds": forecast.seconds,
                "devices": {name: x._asdict() for name, x in forecast.devices.items()},
                "transfers": [transfer._asdict() for transfer in forecast.transfers],
                "critical_path": forecast.critical_path,
            }
            for title, forecast, _ in self._steps
        ]
        return {"steps": steps, "devices": devices}


def _held(variables: dict[tuple[str, str], int], device: str) -> int:
    """Return the number of bytes of all variables on a device."""
    return sum(size for (place, _), size in variables.items() if place == device)


def _device_line(name: str, held: int, beside: int, step: int, memory: int) -> str:
    """Return the line about a device: the size of its variables, and the memory of the largest run
    in addition to them.
    """
    total, is_gpu = held + beside, "GPU" in name
    room = f" of {human_readable_bytes(memory)}" if is_gpu else ""
    fits = (", does not fit" if total > memory else ", fits") if is_gpu else ""
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
