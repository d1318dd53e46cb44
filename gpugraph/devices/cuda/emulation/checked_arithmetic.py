"""Checks of the emulation. GPUGRAPH_CUDA_CHECKS enables them through flags of the C++ compiler.

races        raise an error if two threads access one byte without a barrier in between
contraction  round a product and its sum with another number only once, as a GPU may do
noise        change results of functions such as exp and tanh by up to 2 ulp, as a GPU may do
shuffle      run blocks in a random order, and the threads of a block from the last to the
             first
"""

from __future__ import annotations

from gpugraph.base.errors import invalid_argument
from gpugraph.config.environment import setting

SWITCH = "GPUGRAPH_CUDA_CHECKS"
SHUFFLED = 12347
"""The seed of the order of blocks. An odd seed also runs threads from the last to the first."""

_FLAGS: dict[str, tuple[str, ...]] = {
    "races": (
        *("-fsanitize=kernel-address", "--param=asan-instrumentation-with-call-threshold=0"),
        *("--param=asan-stack=0", "--param=asan-globals=0", "-U__SANITIZE_ADDRESS__"),
        "-DGG_RACES=1",
    ),
    "contraction": ("-ffp-contract=fast", "-mfma"),
    "noise": ("-DGG_NOISE=1",),
    "shuffle": (),
}


def checks() -> frozenset[str]:
    """Return the checks that are enabled. Raises InvalidArgumentError if a check is unknown."""
    names = frozenset(word for word in setting(SWITCH).replace(",", " ").split() if word)
    if unknown := sorted(names - set(_FLAGS)):
        raise invalid_argument(
            f"{SWITCH} has {', '.join(unknown)}; possible are {', '.join(_FLAGS)}"
        )
    return names


def check_flags() -> tuple[str, ...]:
    """Return the flags of the C++ compiler for the checks."""
    return tuple(flag for name in sorted(checks()) for flag in _FLAGS[name])
