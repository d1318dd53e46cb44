"""Trains an LSTM to write verse, character by character, as a TensorFlow 1 program does.

    python examples/char_rnn.py                              on the CPU
    python examples/char_rnn.py --virtual-gpus 2             layers on two virtual GPUs
    python examples/char_rnn.py --start "Tweedledee" --temperature 0.7 --sample 400

The text is cut into rows, which are read side by side. Each training step goes on where the last
one ended: the state is carried over, the gradient is not. A sample is written by a loop in the
graph, in one run of the session. Nothing here is peculiar to gpugraph but the option for virtual
GPUs; with `import tensorflow as tf` it is a program for TensorFlow 1.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import gpugraph as tf

VERSE = Path(__file__).parent / "data" / "carroll.txt"


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--text", metavar="FILE", type=Path, default=VERSE)
    parser.add_argument("--virtual-gpus", type=int, default=0, help="GPUs in host memory")
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--batch", type=int, default=8, help="rows that are read side by side")
    parser.add_argument("--length", type=int, default=32, help="characters of a row in a step")
    parser.add_argument("--units", type=int, default=64)
    parser.add_argument("--rate", type=float, default=0.03, help="falls to 0 in the end")
    parser.add_argument("--clip", type=float, default=5.0, help="largest norm of the gradients")
    parser.add_argument("--sample", metavar="N", type=int, default=500, help="characters to write")
    parser.add_argument("--start", metavar="TEXT", default="The Walrus ", help="to go on from")
    parser.add_argument("--temperature", type=float, default=0.5, help="the higher, the bolder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--losses", metavar="FILE", help="write each step's loss there, as hex")
    options = parser.parse_args(arguments)
    if not options.start or options.sample < 0:
        parser.error("a sample goes on from one character at least, and has 0 or more")
    return options


class Text:
    """A text as numbers, each of which stands for a character of its alphabet."""

    def __init__(self, text: str) -> None:
        self.alphabet = "".join(sorted(set(text)))
        self.ids = self.encode(text)

    def encode(self, text: str) -> np.ndarray:
        strange = set(text) - set(self.alphabet)
        if strange:
            raise SystemExit(f"characters that are not in the text: {''.join(sorted(strange))!r}")
        return np.array([self.alphabet.index(character) for character in text], np.int32)

    def decode(self, ids: np.ndarray) -> str:
        return "".join(self.alphabet[number] for number in ids)

    def batches(self, batch: int, length: int) -> Iterator[tuple[np.ndarray, np.ndarray, bool]]:
        """Again and again: characters, those which follow them, and whether rows begin here."""
        columns = (len(self.ids) - 1) // batch
        if columns < length:
            raise SystemExit(f"a text of {len(self.ids)} characters is too short for {batch} rows")
        here = self.ids[: batch * columns].reshape(batch, columns)
        following = self.ids[1 : batch * columns + 1].reshape(batch, columns)
        while True:
            for index in range(0, columns - length + 1, length):
                yield (
                    here[:, index : index + length],
                    following[:, index : index + length],
                    index == 0,
                )


class Network:
    """An LSTM over characters: placeholders, loss and training step, and the loop that writes."""

    def __init__(self, options: argparse.Namespace, characters: int) -> None:
        self.characters = characters
        self.cell = tf.nn.rnn_cell.BasicLSTMCell(options.units)
        self.build_training(options)
        self.build_writing()

    def build_training(self, options: argparse.Namespace) -> None:
        shape = [options.batch, options.length]
        self.inputs = tf.placeholder(tf.int32, shape, name="inputs")
        self.targets = tf.placeholder(tf.int32, shape, name="targets")
        with tf.device("/gpu:0"):
            self.start = self.cell.zero_state(options.batch, tf.float32)
            outputs, self.end = tf.nn.dynamic_rnn(
                self.cell, tf.one_hot(self.inputs, self.characters), initial_state=self.start
            )
        with tf.device("/gpu:1"):
            logits = self.project(tf.reshape(outputs, [-1, options.units]))
        with tf.device("/cpu:0"):
            errors = tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=tf.reshape(self.targets, [-1]), logits=logits
            )
            self.loss = tf.reduce_mean(errors, name="loss")
        variables = tf.trainable_variables()
        gradients, _ = tf.clip_by_global_norm(tf.gradients(self.loss, variables), options.clip)
        self.rate = tf.placeholder(tf.float32, [], name="rate")
        optimizer = tf.train.AdamOptimizer(self.rate)
        self.train = optimizer.apply_gradients(zip(gradients, variables))

    def project(self, outputs: tf.Tensor) -> tf.Tensor:
        """How likely each character comes next, by its logarithm."""
        with tf.variable_scope("projection", reuse=tf.AUTO_REUSE):
            weights = tf.get_variable("weights", [self.cell.output_size, self.characters])
            biases = tf.get_variable("biases", [self.characters], initializer=tf.zeros_initializer)
        return tf.nn.bias_add(tf.matmul(outputs, weights), biases)

    def build_writing(self) -> None:
        """Build a loop that reads `prompt`, then continues with its own output."""
        self.prompt = tf.placeholder(tf.int32, [None], name="prompt")
        self.count = tf.placeholder(tf.int32, [], name="count")
        self.temperature = tf.placeholder(tf.float32, [], name="temperature")
        known = tf.size(self.prompt)
        steps = known + self.count - 1

        def step(index: tf.Tensor, last: tf.Tensor, state: Any, text: tf.TensorArray) -> Any:
            character = tf.cond(index < known, lambda: self.prompt[index], lambda: last)
            outputs, state = self.cell(tf.one_hot([character], self.characters), state)
            drawn = self.draw(self.project(outputs)[0] / self.temperature)
            return index + 1, drawn, state, text.write(index, drawn)

        with tf.name_scope("writing"), tf.device("/cpu:0"):
            state = self.cell.zero_state(1, tf.float32)
            text = tf.TensorArray(tf.int32, size=steps)
            _, _, _, text = tf.while_loop(
                lambda index, *_: index < steps, step, (0, 0, state, text)
            )
            self.written = text.stack()[known - 1 :]

    def draw(self, logits: tf.Tensor) -> tf.Tensor:
        """Return a character, drawn with probability softmax(logits): the largest of logits +
        noise.
        """
        noise = -tf.log(-tf.log(tf.random_uniform([self.characters])))  # Gumbel's distribution
        return tf.argmax(logits + noise, output_type=tf.int32)


def train(
    session: tf.Session, network: Network, text: Text, options: argparse.Namespace
) -> list[float]:
    """Train by truncated backpropagation, and return the loss of each step."""
    batches = text.batches(options.batch, options.length)
    losses: list[float] = []
    state = None
    begun = time.perf_counter()
    for step in range(1, options.steps + 1):
        inputs, targets, anew = next(batches)
        rate = options.rate * (1 - (step - 1) / options.steps)
        feeds = {network.inputs: inputs, network.targets: targets, network.rate: rate}
        if not anew:
            feeds.update(zip(network.start, state))
        _, loss, state = session.run([network.train, network.loss, network.end], feeds)
        losses.append(float(loss))
        if step % 50 == 0 or step == 1:
            print(f"step {step:4d}  loss {np.mean(losses[-50:]):.3f} nats a character")
    seconds = time.perf_counter() - begun
    step_seconds = seconds / max(len(losses), 1)
    print(f"{len(losses)} steps in {seconds:.1f} s, {step_seconds * 1e3:.1f} ms a step")
    return losses


def write(session: tf.Session, network: Network, text: Text, options: argparse.Namespace) -> str:
    """Return the network's continuation of a start, written in one run."""
    feeds = {
        network.prompt: text.encode(options.start),
        network.count: options.sample,
        network.temperature: options.temperature,
    }
    return text.decode(session.run(network.written, feeds))


def main(arguments: list[str] | None = None) -> tuple[list[float], str]:
    options = parse_arguments(arguments)
    text = Text(options.text.read_text(encoding="utf-8"))
    with tf.Graph().as_default():
        tf.set_random_seed(options.seed)
        network = Network(options, len(text.alphabet))
        config = tf.ConfigProto(allow_soft_placement=True)
        if options.virtual_gpus:
            config.gpu_options.virtual_gpus = options.virtual_gpus
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            losses = train(session, network, text, options)
            written = write(session, network, text, options)
    print(f"\n{options.start}{written}")
    if options.losses:
        with open(options.losses, "w", encoding="utf-8") as file:
            file.writelines(f"{loss.hex()}\n" for loss in losses)
    return losses, written


if __name__ == "__main__":
    main()
