"""Modules in the manner of Sonnet: objects that own their variables, built on `tf.make_template`.

    python examples/modules.py

A siamese network learns to tell whether two handwritten digits are the same one: both images go
through one module, which makes its variables when it is called first and has them when called
again. Prints the modules' variables, and how often the network is right on images it never saw.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.datasets import load_digits

import gpugraph as tf


class Module:
    """Owns the variables that its `build` gets: made at the first call, shared by the others.

    Modules that are made inside `build` are under its name, the same ones at each call.
    """

    def __init__(self, name: str) -> None:
        self._template = tf.make_template(name, self.build, create_scope_now_=True)

    def build(self, inputs: tf.Tensor) -> tf.Tensor:
        raise NotImplementedError

    def __call__(self, *inputs: tf.Tensor) -> tf.Tensor:
        return self._template(*inputs)

    @property
    def scope_name(self) -> str:
        return self._template.variable_scope.name

    @property
    def variables(self) -> list[tf.Variable]:
        """Those made so far, of the modules inside too."""
        return self._template.variables


class Linear(Module):
    """inputs @ w + b."""

    def __init__(self, size: int, name: str = "linear") -> None:
        super().__init__(name)
        self.size = size

    def build(self, inputs: tf.Tensor) -> tf.Tensor:
        w = tf.get_variable("w", [int(inputs.shape[1]), self.size])
        b = tf.get_variable("b", [self.size], initializer=tf.zeros_initializer())
        return tf.nn.bias_add(tf.matmul(inputs, w), b)


class Mlp(Module):
    """Linear layers with rectifiers between them."""

    def __init__(self, sizes: list[int], name: str = "mlp") -> None:
        super().__init__(name)
        self.sizes = sizes

    def build(self, inputs: tf.Tensor) -> tf.Tensor:
        for size in self.sizes[:-1]:
            inputs = tf.nn.relu(Linear(size)(inputs))
        return Linear(self.sizes[-1])(inputs)


class Siamese(Module):
    """How far apart two images are, by one network that sees both [batch, 64] -> [batch]."""

    def __init__(self, name: str = "siamese") -> None:
        super().__init__(name)

    def build(self, left: tf.Tensor, right: tf.Tensor) -> tf.Tensor:
        see = Mlp([64, 16], name="see")
        return tf.reduce_sum(tf.squared_difference(see(left), see(right)), axis=1)


def pairs(images: np.ndarray, labels: np.ndarray, count: int, random: np.random.Generator):
    """`count` pairs of images, and 1 where they show the same digit, which half of them do."""
    left = random.integers(len(images), size=count)
    right = random.integers(len(images), size=count)
    for index in range(0, count, 2):
        right[index] = random.choice(np.flatnonzero(labels == labels[left[index]]))
    same = (labels[left] == labels[right]).astype(np.float32)
    return images[left], images[right], same


def main(arguments: list[str] | None = None) -> float:
    """Return the share of unseen pairs that the trained network is right about."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--steps", type=int, default=1500)
    options = parser.parse_args(arguments)
    digits = load_digits()
    images, labels = (digits.data / 16).astype(np.float32), digits.target
    random = np.random.default_rng(0)
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        left, right = (tf.placeholder(tf.float32, [None, 64], name=name) for name in "lr")
        same = tf.placeholder(tf.float32, [None], name="same")
        siamese = Siamese()
        apart = siamese(left, right)
        near, far = same * apart, (1 - same) * tf.square(tf.nn.relu(2 - tf.sqrt(apart + 1e-6)))
        print(
            f"{siamese.scope_name} has",
            ", ".join(variable.op.name for variable in siamese.variables),
        )
        train = tf.train.AdamOptimizer(2e-3).minimize(tf.reduce_mean(near + far))
        right_guess = tf.equal(tf.less(apart, 1.0), tf.greater(same, 0.5))
        share = tf.reduce_mean(tf.cast(right_guess, tf.float32))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(options.steps):
                chosen = pairs(images[:1400], labels[:1400], 64, random)
                session.run(train, dict(zip((left, right, same), chosen)))
            chosen = pairs(images[1400:], labels[1400:], 1000, random)
            actual = float(session.run(share, dict(zip((left, right, same), chosen))))
    print(f"right about {100 * actual:.1f} % of unseen pairs")
    return actual


if __name__ == "__main__":
    main()
