"""Generated CUDA texts for the sweep: what the samples of every declared op become on a GPU.

Each sample is built alone and run on an emulated GPU whose driver writes the texts down and
computes nothing, so that this takes seconds a thousand. What a sample then makes of numbers that
nobody computed does not matter here, so neither do its errors.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import gpugraph as tf  # noqa: E402
from gpugraph.devices.cuda import host_driver  # noqa: E402
from gpugraph.devices.cuda.driver import Geometry  # noqa: E402
from gpugraph.devices.cuda.host_compiler import HostModule  # noqa: E402
from gpugraph.ops.declare import DECLARATIONS  # noqa: E402
from tests.ops.one_op import Built  # noqa: E402
from tests.ops.samples import TABLE  # noqa: E402

__all__ = ["sample_texts"]

OPTIONS = tf.ConfigProto(
    gpu_options=tf.GPUOptions(emulated_gpus=1),
    allow_soft_placement=True,
    log_device_placement=False,
)


class _Recorded(HostModule):
    """A module of any kernels, which do nothing."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.kernels = defaultdict(str)

    def check(self, function: str, geometry: Geometry, arguments: Sequence[Any]) -> None:
        pass

    def launch(
        self,
        function: str,
        geometry: Geometry,
        arguments: Sequence[Any],
        backwards: bool = False,
    ) -> None:
        pass


def sample_texts(op_types: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
    """Each text once, named by the first sample that has it. op_types: by default all."""
    texts: dict[str, str] = {}
    label = ""

    def load(text: str, name: str) -> HostModule:
        texts.setdefault(text, f"{label} ({name})")
        return _Recorded(name)

    with mock.patch.object(host_driver, "load", load):
        for op_type in op_types or sorted(set(TABLE) & set(DECLARATIONS)):
            for number, sample in enumerate(TABLE[op_type].samples):
                label = f"{op_type} sample {number}"
                _run(op_type, sample)
    for text, name in texts.items():
        yield name, text


def _run(op_type: str, sample: Any) -> None:
    with tf.Graph().as_default():
        try:
            built = Built(op_type, sample, "/device:GPU:0")
            with tf.Session(config=OPTIONS) as session:
                built(session)
        except Exception:  # of numbers that nobody computed, or an op that has no GPU kernel
            return


if __name__ == "__main__":
    found = list(sample_texts(sys.argv[1:]))
    print(f"{len(found)} texts, {len({name for name, _ in found})} names")
