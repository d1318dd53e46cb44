"""Trains a convolutional network on scikit-learn's handwritten digits, by `tf.keras`.

    python examples/keras_digits.py                      about ten seconds on two cores
    python examples/keras_digits.py --epochs 5           a first look
    python examples/keras_digits.py --folder results     where its files are kept

The training is watched by callbacks: the learning rate falls when the validation loss stands still,
the training ends when that stays so, the best model is saved, and every epoch is a line of a table.
Then the saved model is loaded, tells the held-out digits apart, and the table becomes a picture,
`learning.svg`.
"""

from __future__ import annotations

import argparse
import csv
import math
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import gpugraph as tf

keras, layers = tf.keras, tf.keras.layers


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=30, help="at most")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=0.003, help="of the first steps")
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="for its files; a temporary one by default")
    return parser.parse_args(arguments)


def block(images: tf.Tensor, filters: int) -> tf.Tensor:
    """Convolution without biases, which batch normalization would take away, then its relu."""
    outputs = layers.Conv2D(filters, 3, padding="same", use_bias=False)(images)
    outputs = layers.BatchNormalization(momentum=0.9)(outputs)
    return layers.Activation("relu")(outputs)


def build(rate: float) -> keras.Model:
    """Return the compiled classifier of images of 8 by 8."""
    images = keras.Input((8, 8, 1), name="images")
    outputs = block(block(images, 32), 32)
    outputs = layers.MaxPooling2D(2)(outputs)
    outputs = layers.Dropout(0.25)(outputs)
    outputs = block(block(outputs, 64), 64)
    outputs = layers.MaxPooling2D(2)(outputs)
    outputs = layers.Flatten()(outputs)
    outputs = layers.Dropout(0.5)(outputs)
    outputs = layers.Dense(10, "softmax", name="digits")(outputs)
    model = keras.Model(images, outputs, name="keras_digits")
    model.compile(
        keras.optimizers.Adam(rate), "sparse_categorical_crossentropy", metrics=["accuracy"]
    )
    return model


def load() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return (images, held-out images, labels, held-out labels).

    Images are 8 by 8, from 0 to 1.
    """
    digits = load_digits()
    pixels = (digits.images[..., None] / 16.0).astype(np.float32)
    images, test_images, labels, test_labels = train_test_split(
        pixels, digits.target, test_size=0.2, random_state=1, stratify=digits.target
    )
    return images, test_images, labels, test_labels


def callbacks(folder: Path) -> list[keras.callbacks.Callback]:
    """Return callbacks that watch a training, and write `epochs.csv` and `best.h5`."""
    return [
        keras.callbacks.ReduceLROnPlateau("val_loss", factor=0.3, patience=3),
        keras.callbacks.EarlyStopping("val_loss", patience=8),
        keras.callbacks.ModelCheckpoint(str(folder / "best.h5"), "val_loss", save_best_only=True),
        keras.callbacks.CSVLogger(str(folder / "epochs.csv")),
    ]


# -- the picture

WIDTH, HEIGHT, LEFT, TOP = 300, 200, 58, 46
"""The size of a chart and its place in the picture, in pixels; the next one is beside it."""

STYLE = """
text { font: 12px system-ui, sans-serif; fill: #52606d; } .title { font-size: 14px; fill: #1d2733; }
.frame { fill: none; stroke: #c5ced8; } .grid { stroke: #e8ecf0; }
.training { stroke: #8593a3; fill: none; } .validation { stroke: #1f6feb; fill: none; }
polyline { stroke-width: 1.8; stroke-linejoin: round; } .rate { stroke: #d97706; }
.rate { stroke-dasharray: 3 3; } .best { fill: #1f6feb; }
"""


@dataclass
class Chart:
    """A chart of curves by epoch.

    curves: values by "training" and "validation". ticks: values of the axis, the lowest first;
    what is below is drawn at the edge. is_logarithmic: whether powers are at equal distances.
    """

    title: str
    curves: dict[str, list[float]]
    ticks: list[float]
    is_logarithmic: bool = False

    def y(self, value: float) -> float:
        """Return the distance of a value from the upper edge, in pixels."""
        scale = math.log10 if self.is_logarithmic else float
        low, high = scale(self.ticks[0]), scale(self.ticks[-1])
        return (high - scale(max(value, self.ticks[0]))) / (high - low) * HEIGHT

    def draw(self, best: int, lowered: list[int]) -> str:
        """Its elements, with a mark at the best epoch and lines where the learning rate fell."""
        epochs = len(self.curves["training"])

        def x(epoch: int) -> float:
            return (epoch + 0.5) / epochs * WIDTH

        parts = [f'<text class="title" y="-14">{self.title}</text>']
        for tick in self.ticks:
            parts.append(f'<path class="grid" d="M0,{self.y(tick):.1f}H{WIDTH}"/>')
            parts.append(_text(-8, self.y(tick) + 4, f"{tick:g}", "end"))
        for epoch in range(4, epochs, 5):
            parts.append(_text(x(epoch), HEIGHT + 17, str(epoch + 1), "middle"))
        parts += [f'<path class="rate" d="M{x(epoch):.1f},0V{HEIGHT}"/>' for epoch in lowered]
        for kind, curve in self.curves.items():
            points = [f"{x(epoch):.1f},{self.y(value):.1f}" for epoch, value in enumerate(curve)]
            parts.append(f'<polyline class="{kind}" points="{" ".join(points)}"/>')
        height = self.y(self.curves["validation"][best])
        parts.append(f'<circle class="best" cx="{x(best):.1f}" cy="{height:.1f}" r="4"/>')
        parts.append(f'<rect class="frame" width="{WIDTH}" height="{HEIGHT}"/>')
        return "\n".join(parts)


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'


def learning_curve(epochs: list[dict[str, float]]) -> str:
    """Return the table of a training as an SVG picture: losses and accuracies by epoch."""
    columns = {name: [epoch[name] for epoch in epochs] for name in epochs[0]}
    best = min(range(len(epochs)), key=columns["val_loss"].__getitem__)
    rates = columns["lr"]
    lowered = [index for index in range(1, len(rates)) if rates[index] < rates[index - 1]]
    losses = {"training": columns["loss"], "validation": columns["val_loss"]}
    every = [value for curve in losses.values() for value in curve]
    powers = range(math.floor(math.log10(min(every))), math.ceil(math.log10(max(every))) + 1)
    accuracies = {
        kind: [100.0 * value for value in columns[name]]
        for kind, name in (("training", "acc"), ("validation", "val_acc"))
    }
    charts = [
        Chart("Loss", losses, [10.0**power for power in powers], is_logarithmic=True),
        Chart("Accuracy, %", accuracies, [90.0, 92.0, 94.0, 96.0, 98.0, 100.0]),
    ]
    second = LEFT + WIDTH + 76
    legend = (
        '<path class="training" d="M0,0h22"/><text x="28" y="4">training</text>'
        '<path class="validation" d="M100,0h22"/><text x="128" y="4">validation</text>'
        '<circle class="best" cx="219" cy="0" r="4"/><text x="229" y="4">saved model</text>'
        '<path class="rate" d="M322,0h22"/><text x="350" y="4">learning rate falls</text>'
        + _text(second + WIDTH - LEFT, 4, "epoch", "end")
    )
    width, height = second + WIDTH + 20, TOP + HEIGHT + 62
    groups = [
        (LEFT, TOP, charts[0].draw(best, lowered)),
        (second, TOP, charts[1].draw(best, lowered)),
        (LEFT, TOP + HEIGHT + 42, legend),
    ]
    elements = [f'<g transform="translate({x},{y})">\n{group}\n</g>' for x, y, group in groups]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">\n'
        f'<style>{STYLE}</style>\n<rect width="{width}" height="{height}" fill="#ffffff"/>\n'
        + "\n".join(elements)
        + "\n</svg>\n"
    )


def read_epochs(path: Path) -> list[dict[str, float]]:
    """Return the lines of a table that `CSVLogger` wrote."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            {name: float(value) for name, value in line.items()} for line in csv.DictReader(file)
        ]


# -- the program


def main(arguments: list[str] | None = None) -> float:
    options = parse_arguments(arguments)
    folder = options.folder or Path(tempfile.mkdtemp(prefix="keras_digits_"))
    folder.mkdir(parents=True, exist_ok=True)
    images, test_images, labels, test_labels = load()
    np.random.seed(options.seed)
    with tf.Graph().as_default():
        tf.set_random_seed(options.seed)
        model = build(options.rate)
        model.fit(
            images, labels, options.batch, options.epochs, verbose=2, validation_split=0.1,
            callbacks=callbacks(folder),
        )  # fmt: skip
    with tf.Graph().as_default():
        best = keras.models.load_model(str(folder / "best.h5"))
        _, accuracy = best.evaluate(test_images, test_labels, verbose=0)
    picture = learning_curve(read_epochs(folder / "epochs.csv"))
    (folder / "learning.svg").write_text(picture, encoding="utf-8")
    print(f"best.h5, epochs.csv and learning.svg are in {folder}")
    print(f"test accuracy {100 * accuracy:.2f} %")
    return float(accuracy)


if __name__ == "__main__":
    main()
