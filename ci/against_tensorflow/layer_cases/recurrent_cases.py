"""Cases of recurrent layers, their cells and wrappers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from layer_cases import PENALTIES, SEQUENCE, Case, Options, masked

FILMS = (2, 4, 6, 7, 3)

CASES: dict[str, Case] = {}


VARIANTS: dict[str, Options] = {
    "": {},
    "sequences": {"return_sequences": True, "return_state": True},
    "backwards": {"go_backwards": True, "return_sequences": True},
    "unrolled": {"unroll": True, "return_state": True},
    "relu, no bias": {"activation": "relu", "use_bias": False},
    "time major": {"time_major": True, "return_sequences": True},
    "stateful": {"stateful": True, "return_sequences": True},
    "penalties": {**PENALTIES, "dropout": 0.5},
}
BY_CLASS: dict[str, dict[str, Options]] = {
    "SimpleRNN": {},
    "GRU": {
        "after": {"reset_after": True},
        "second": {"implementation": 2},
        "both": {"reset_after": True, "implementation": 2, "recurrent_activation": "sigmoid"},
    },
    "LSTM": {
        "second": {"implementation": 2, "unit_forget_bias": False},
        "sigmoid": {"recurrent_activation": "sigmoid"},
    },
}
CASES |= {
    f"{name} {text}".strip(): (
        lambda L, name=name, options=options: getattr(L, name)(3, **options), SEQUENCE,
    )
    for name, further in BY_CLASS.items()
    for text, options in {**VARIANTS, **further}.items()
}  # fmt: skip


def running_sum(layers: Any) -> Any:
    """Return a layer of a cell that a program wrote."""

    class RunningSum(layers.AbstractRNNCell):  # type: ignore[misc, name-defined]
        """Adds its inputs."""

        state_size = output_size = 4

        def call(self, inputs: Any, states: Any) -> Any:
            """Return the sum so far, as output and as state."""
            total = states[0] + inputs
            return total, [total]

        def get_config(self) -> Options:
            """Nothing but a name, which the layer gives."""
            return {}

    return layers.RNN(RunningSum(), return_sequences=True)


SINGLE: dict[str, Callable[[Any], Any]] = {
    "RNN of a cell": lambda L: L.RNN(L.GRUCell(3), return_sequences=True),
    "RNN of cells": lambda L: L.RNN(
        [L.LSTMCell(3), L.GRUCell(2), L.SimpleRNNCell(4)], return_state=True
    ),
    "StackedRNNCells": lambda L: L.RNN(L.StackedRNNCells([L.LSTMCell(3), L.LSTMCell(2)])),
    "RNN of a program's cell": running_sum,
    "LSTM masked": lambda L: masked(L, L.LSTM(3)),
    "GRU masked, sequences": lambda L: masked(
        L, L.GRU(3, return_sequences=True, go_backwards=True)
    ),
    "LSTM masked, zero": lambda L: masked(
        L, L.LSTM(3, return_sequences=True, zero_output_for_mask=True)
    ),
    "LSTM masked, unrolled": lambda L: masked(L, L.LSTM(3, unroll=True, return_sequences=True)),
    "Bidirectional masked": lambda L: masked(L, L.Bidirectional(L.LSTM(3, return_sequences=True))),
    **{
        f"Bidirectional {mode}": lambda L, mode=mode: L.Bidirectional(
            L.GRU(3, return_sequences=True), merge_mode=mode
        )
        for mode in ("concat", "sum", "ave", "mul", None)
    },
    "Bidirectional, states": lambda L: L.Bidirectional(L.LSTM(3, return_state=True)),
    "Bidirectional, other": lambda L: L.Bidirectional(
        L.LSTM(3), backward_layer=L.GRU(3, go_backwards=True)
    ),
    "Bidirectional RNN": lambda L: L.Bidirectional(L.RNN([L.GRUCell(3), L.LSTMCell(2)])),
    "TimeDistributed": lambda L: L.TimeDistributed(L.Dense(3, activation="tanh")),
}
CASES |= {name: (make, SEQUENCE) for name, make in SINGLE.items()}
CASES |= {
    "TimeDistributed Conv2D": (lambda L: L.TimeDistributed(L.Conv2D(2, 3)), FILMS),
    "TimeDistributed LSTM": (lambda L: L.TimeDistributed(L.LSTM(2)), (2, 3, 4, 5)),
    "LSTM from states": (lambda L: L.LSTM(3), [SEQUENCE, (3, 3), (3, 3)]),
    "Bidirectional from states": (lambda L: L.Bidirectional(L.GRU(3)), [SEQUENCE, (3, 3), (3, 3)]),
    "ConvLSTM2D": (lambda L: L.ConvLSTM2D(2, 3), FILMS),
    "ConvLSTM2D, all": (
        lambda L: L.ConvLSTM2D(
            2, (2, 3), padding="same", return_sequences=True, return_state=True, strides=(2, 1)
        ),
        FILMS,
    ),
    "ConvLSTM2D dilated": (
        lambda L: L.ConvLSTM2D(2, 2, dilation_rate=2, go_backwards=True, unit_forget_bias=False),
        FILMS,
    ),
    "ConvLSTM2D stateful": (lambda L: L.ConvLSTM2D(2, 3, stateful=True), FILMS),
}
