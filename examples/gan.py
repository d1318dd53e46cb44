"""Trains a GAN on points of a circle; its discriminator is built twice and is one by its scope.

    python examples/gan.py

One tower of the discriminator sees points of the circle, the other the generator's. The second
opens the same variable scope with reuse, so that both have the same weights. Prints the scopes
with who shares which variable, then how far the generator's points are from the circle.
"""

from __future__ import annotations

import argparse

import numpy as np

import gpugraph as tf

RADIUS = 2.0
NOISE = 4  # the size of a generator's input


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args(arguments)


def dense(inputs: tf.Tensor, size: int, name: str) -> tf.Tensor:
    """Return inputs @ w + b, with the variables of the enclosing scopes."""
    with tf.variable_scope(name):
        w = tf.get_variable("w", [int(inputs.shape[1]), size])
        b = tf.get_variable("b", [size], initializer=tf.zeros_initializer())
        return tf.nn.bias_add(tf.matmul(inputs, w), b)


def generator(noise: tf.Tensor) -> tf.Tensor:
    """Noise [batch, NOISE] to points [batch, 2]."""
    with tf.variable_scope("generator"):
        hidden = tf.nn.relu(dense(noise, 32, "hidden"))
        return dense(hidden, 2, "points")


def discriminator(points: tf.Tensor, reuse: bool | None = None) -> tf.Tensor:
    """Points [batch, 2] to how much they look like points of the circle [batch, 1]."""
    with tf.variable_scope("discriminator", reuse=reuse):
        hidden = tf.nn.leaky_relu(dense(points, 32, "hidden"))
        hidden = tf.nn.leaky_relu(dense(hidden, 32, "more"))
        return dense(hidden, 1, "verdict")


def loss(verdicts: tf.Tensor, real: bool) -> tf.Tensor:
    """How wrong these verdicts are where the points are real, or are not."""
    wanted = tf.ones_like(verdicts) if real else tf.zeros_like(verdicts)
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=wanted, logits=verdicts))


class Gan:
    """Placeholders, both towers, and a training step for each of the two players."""

    def __init__(self) -> None:
        self.points = tf.placeholder(tf.float32, [None, 2], name="points")
        self.noise = tf.placeholder(tf.float32, [None, NOISE], name="noise")
        self.generated = generator(self.noise)
        of_real = discriminator(self.points)
        of_generated = discriminator(self.generated, reuse=True)
        self.discriminator_loss = loss(of_real, real=True) + loss(of_generated, real=False)
        self.generator_loss = loss(of_generated, real=True)
        self.train_discriminator = self.step(self.discriminator_loss, "discriminator")
        self.train_generator = self.step(self.generator_loss, "generator")

    def step(self, wanted: tf.Tensor, scope: str) -> tf.Operation:
        """Lessens a loss by the variables of one scope."""
        optimizer = tf.train.AdamOptimizer(2e-3, beta1=0.5)
        return optimizer.minimize(wanted, var_list=tf.trainable_variables(f"{scope}/"))


def distance(points: np.ndarray) -> float:
    """How far points are from the circle, on average."""
    return float(np.abs(np.linalg.norm(points, axis=1) - RADIUS).mean())


def main(arguments: list[str] | None = None) -> list[float]:
    """Return the distance of the generator's points from the circle, before and after training."""
    options = parse_arguments(arguments)
    random = np.random.default_rng(options.seed)
    with tf.Graph().as_default():
        tf.set_random_seed(options.seed)
        gan = Gan()
        print(tf.explain_variables())
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            fixed = {gan.noise: random.standard_normal((1000, NOISE))}
            distances = [distance(session.run(gan.generated, fixed))]
            for _ in range(options.steps):
                angles = random.uniform(0, 2 * np.pi, options.batch)
                feeds = {
                    gan.points: RADIUS * np.stack([np.cos(angles), np.sin(angles)], axis=1),
                    gan.noise: random.standard_normal((options.batch, NOISE)),
                }
                session.run(gan.train_discriminator, feeds)
                session.run(gan.train_generator, feeds)
            distances.append(distance(session.run(gan.generated, fixed)))
    print(f"distance from the circle: {distances[0]:.3f} at first, {distances[1]:.3f} now")
    return distances


if __name__ == "__main__":
    main()
