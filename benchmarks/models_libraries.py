"""The ops that models.py builds its models of, by each library, and the steps of the models.

Images are NHWC, and tensors of torch and onnxruntime are channels first, as these libraries have
them; torch's are in its memory format "channels last". Each layer draws its weights in the order in
which the model asks for them (`Ops.weight`), so that all libraries have the same.
"""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

import numpy as np
from cpu_numbers import EPSILON, random
from works import rnn_cells, rnn_of

NORM_EPSILON = 1e-3
"""Of batch normalization: the default of TensorFlow's fused_batch_norm."""

Shape = tuple[int, ...]


class Ops:
    """The layers whose weights do not depend on the library.

    A library defines `weight_of(array)` and the ops on tensors. The first pass over a model draws
    its weights; `again` begins another pass, which gets the same.
    """

    is_training = False

    def __init__(self, library: Any) -> None:
        self.library = library
        self.weights: list[Any] = []
        self._next = 0

    def again(self, weights: list[Any] | None = None) -> None:
        """Begin another pass over the model, with `weights` instead of those of the first pass."""
        self.weights = self.weights if weights is None else weights
        self._next = 0

    def weight(self, shape: Shape, mean: float = 0.0, scale: float = 0.02) -> Any:
        self._next += 1
        if self._next > len(self.weights):
            self.weights.append(self.weight_of(random(self._next, *shape, scale=scale) + mean))
        return self.weights[self._next - 1]

    def weight_of(self, array: Any) -> Any:
        raise NotImplementedError

    def conv(self, x: Any, outputs: int, window: int, stride: int) -> Any:
        """Return a convolution; a depthwise one if `outputs` is 0."""
        channels = self.channels(x)
        shape = window, window, channels, outputs or 1
        scale = (2 / (window**2 * (channels if outputs else 1))) ** 0.5
        return self.convolved(x, self.weight(shape, scale=scale), stride, not outputs)

    def norm(self, x: Any) -> Any:
        """Return a batch normalization; without training, the mean and variance are weights."""
        shape = (self.channels(x),)
        affine = self.weight(shape, 1), self.weight(shape)
        moments = () if self.is_training else (self.weight(shape), self.weight(shape, 1))
        return self.normalized(x, *affine, *moments)

    def biased(self, x: Any) -> Any:
        return self.bias_added(x, self.weight((self.channels(x),)))

    def dense(self, x: Any, units: int) -> Any:
        inputs = self.columns(x)
        kernel = self.weight((inputs, units), scale=(1 / inputs) ** 0.5)
        return self.product(x, kernel) + self.weight((units,))

    def layer_norm(self, x: Any) -> Any:
        shape = (self.columns(x),)
        return self.rows_normalized(x, self.weight(shape, 1), self.weight(shape))


class Graph(Ops):
    """TensorFlow 1's API: gpugraph and TensorFlow."""

    def __init__(self, library: Any) -> None:
        super().__init__(library)
        self._are_variables = True
        self._initial: dict[Any, Any] = {}

    def weight_of(self, array: Any) -> Any:
        tf = self.library
        if not self._are_variables:
            return tf.constant(array)
        initial = tf.placeholder(tf.float32, array.shape)
        self._initial[initial] = array
        return tf.Variable(initial)

    def constant(self, array: Any) -> Any:
        return self.library.constant(array)

    def channels(self, x: Any) -> int:
        return int(x.shape[-1])

    columns = channels

    def convolved(self, x: Any, filters: Any, stride: int, is_depthwise: bool) -> Any:
        nn = self.library.nn
        convolution = nn.depthwise_conv2d if is_depthwise else nn.conv2d
        return convolution(x, filters, strides=[1, stride, stride, 1], padding="SAME")

    def normalized(self, x: Any, scale: Any, offset: Any, *moments: Any) -> Any:
        norm = self.library.nn.fused_batch_norm
        return norm(x, scale, offset, *moments, is_training=not moments)[0]

    def bias_added(self, x: Any, bias: Any) -> Any:
        return self.library.nn.bias_add(x, bias)

    def relu(self, x: Any) -> Any:
        return self.library.nn.relu(x)

    def relu6(self, x: Any) -> Any:
        return self.library.nn.relu6(x)

    def tanh(self, x: Any) -> Any:
        return self.library.tanh(x)

    def gelu(self, x: Any) -> Any:
        return 0.5 * x * (1.0 + self.library.erf(x * 0.5**0.5))

    def max_pool(self, x: Any, window: int) -> Any:
        sizes = [1, window, window, 1]
        return self.library.nn.max_pool(x, sizes, [1, 2, 2, 1], "SAME")

    def mean(self, x: Any) -> Any:
        return self.library.reduce_mean(x, [1, 2])

    def flat(self, x: Any) -> Any:
        return self.library.reshape(x, [int(x.shape[0]), -1])

    def product(self, x: Any, kernel: Any) -> Any:
        return self.library.matmul(x, kernel)

    def by_transposed(self, x: Any, table: Any) -> Any:
        return self.library.matmul(x, table, transpose_b=True)

    def rows(self, table: Any, ids: Any) -> Any:
        return self.library.gather(table, ids)

    def rows_normalized(self, x: Any, gain: Any, offset: Any) -> Any:
        tf = self.library
        mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
        return (x - mean) * tf.rsqrt(variance + EPSILON) * gain + offset

    def attention(self, q: Any, k: Any, v: Any, shape: Shape) -> Any:
        tf, width = self.library, self.columns(q)
        sizes = [*shape, width // shape[-1]]
        q, k, v = (tf.transpose(tf.reshape(x, sizes), [0, 2, 1, 3]) for x in (q, k, v))
        scores = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) * sizes[-1] ** -0.5)
        return tf.reshape(tf.transpose(tf.matmul(scores, v), [0, 2, 1, 3]), [-1, width])

    def attention_over(self, qkv: Any, past: Any, _: Any, heads: int) -> Any:
        """Return the values that one token attends to, and `past` (2, heads, tokens, numbers) with
        the token's key and value.
        """
        tf, width = self.library, self.columns(qkv) // 3
        q, k, v = tf.unstack(tf.reshape(qkv, [3, heads, 1, width // heads]))
        present = tf.concat([past, tf.stack([k, v])], axis=-2)
        keys, values = tf.unstack(present)
        scores = tf.matmul(q, keys, transpose_b=True) * (width // heads) ** -0.5
        seen = tf.matmul(tf.nn.softmax(scores), values)
        return tf.reshape(seen, [1, width]), present

    def runner(self, fetches: Any, feeds: dict[Any, Any]) -> Any:
        session = self.library.Session()
        session.run(self.library.global_variables_initializer(), self._initial)
        self._initial.clear()
        return lambda: session.run(fetches, feed_dict=feeds)

    def inference(self, work: Any) -> Any:
        self._are_variables = not work.is_frozen
        x = self.library.placeholder(self.library.float32, work.x().shape)
        return self.runner(work.of(self, x), {x: work.x()})

    def trained(self, loss: Any, work: Any, feeds: dict[Any, Any]) -> Any:
        train = self.library.train
        optimizer = {
            "sgd": train.GradientDescentOptimizer,
            "adam": train.AdamOptimizer,
            "momentum": lambda rate: train.MomentumOptimizer(rate, 0.9),
        }[work.optimizer](work.rate)
        step = self.runner([loss, optimizer.minimize(loss)], feeds)
        return lambda: step()[0]

    def training(self, work: Any) -> Any:
        tf = self.library
        self.is_training = True
        x = tf.placeholder(work.x().dtype, work.x().shape)
        labels = tf.placeholder(tf.int32, [work.batch])
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=labels, logits=work.of(self, x)
        )
        feeds = {x: work.x(), labels: work.labels()}
        return self.trained(tf.reduce_mean(losses), work, feeds)

    def sampling(self, work: Any) -> Any:
        tf = self.library
        depth = work.width // work.heads

        def body(tokens: Any, past: Any) -> list[Any]:
            self.again()
            place = tf.shape(tokens)[:1] - 1
            logits, present = work.gpt2(self, tokens[-1:], place, tf.unstack(past, work.blocks))
            chosen = tf.argmax(logits, axis=-1, output_type=tf.int32)
            return [tf.concat([tokens, chosen], 0), tf.stack(present)]

        first = tf.placeholder(tf.int32, [1])
        work.gpt2(self, first, first, [tf.zeros([2, work.heads, 0, depth])] * work.blocks)
        past = tf.zeros([work.blocks, 2, work.heads, 0, depth])
        shapes = [tf.TensorShape([None]), past.shape[:3].concatenate([None, depth])]
        variables = [first, past]
        tokens, _ = tf.while_loop(
            lambda tokens, past: True,
            body,
            variables,
            shapes,
            maximum_iterations=work.tokens,
            back_prop=False,
        )
        return self.runner(tokens, {first: np.zeros(1, np.int32)})

    def recurrent(self, work: Any) -> Any:
        tf = self.library
        x = tf.placeholder(tf.float32, work.x().shape)
        target = tf.placeholder(tf.float32, work.target().shape)
        layers = [
            rnn_cells(tf).LSTMCell(work.width, initializer=tf.constant_initializer(kernel))
            for kernel in work.kernels()
        ]
        y, _ = rnn_of(tf).dynamic_rnn(rnn_cells(tf).MultiRNNCell(layers), x, dtype=tf.float32)
        loss = tf.reduce_mean(tf.square(y - target))
        return self.trained(loss, work, {x: work.x(), target: work.target()})


class Jax(Ops):
    """Functions of the weights, which are jitted."""

    def __init__(self, library: Any) -> None:
        super().__init__(library)
        self.jnp = importlib.import_module("jax.numpy")

    def weight_of(self, array: Any) -> Any:
        return array

    def constant(self, array: Any) -> Any:
        return array

    def channels(self, x: Any) -> int:
        return int(x.shape[-1])

    columns = channels

    def convolved(self, x: Any, filters: Any, stride: int, is_depthwise: bool) -> Any:
        count = x.shape[-1] if is_depthwise else 1
        return self.library.lax.conv_general_dilated(
            x,
            filters.reshape(*filters.shape[:2], 1, -1) if is_depthwise else filters,
            (stride, stride),
            "SAME",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
            feature_group_count=count,
        )

    def normalized(self, x: Any, scale: Any, offset: Any, *moments: Any) -> Any:
        mean, variance = moments or (x.mean((0, 1, 2)), x.var((0, 1, 2)))
        factor = self.library.lax.rsqrt(variance + NORM_EPSILON) * scale
        return x * factor + (offset - mean * factor)

    def bias_added(self, x: Any, bias: Any) -> Any:
        return x + bias

    def relu(self, x: Any) -> Any:
        return self.library.nn.relu(x)

    def relu6(self, x: Any) -> Any:
        return self.library.nn.relu6(x)

    def tanh(self, x: Any) -> Any:
        return self.jnp.tanh(x)

    def gelu(self, x: Any) -> Any:
        return self.library.nn.gelu(x, approximate=False)

    def max_pool(self, x: Any, window: int) -> Any:
        lax, sizes = self.library.lax, (1, window, window, 1)
        return lax.reduce_window(x, -self.jnp.inf, lax.max, sizes, (1, 2, 2, 1), "SAME")

    def mean(self, x: Any) -> Any:
        return x.mean((1, 2))

    def flat(self, x: Any) -> Any:
        return x.reshape(len(x), -1)

    def product(self, x: Any, kernel: Any) -> Any:
        return x @ kernel

    def by_transposed(self, x: Any, table: Any) -> Any:
        return x @ table.T

    def rows(self, table: Any, ids: Any) -> Any:
        return self.jnp.asarray(table)[ids]

    def rows_normalized(self, x: Any, gain: Any, offset: Any) -> Any:
        mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        return (x - mean) * self.library.lax.rsqrt(variance + EPSILON) * gain + offset

    def attention(self, q: Any, k: Any, v: Any, shape: Shape) -> Any:
        q, k, v = (x.reshape(*shape, -1).transpose(0, 2, 1, 3) for x in (q, k, v))
        scores = self.library.nn.softmax(q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5)
        return (scores @ v).transpose(0, 2, 1, 3).reshape(shape[0] * shape[1], -1)

    def attention_over(self, qkv: Any, past: Any, place: Any, heads: int) -> Any:
        """`past` has the final size; the token's key and value are written at `place`."""
        q, k, v = qkv.reshape(3, heads, 1, -1)
        new, start = self.jnp.stack([k, v]), (0, 0, place[0], 0)
        present = self.library.lax.dynamic_update_slice(past, new, start)
        scores = q @ present[0].swapaxes(-1, -2) * q.shape[-1] ** -0.5
        seen = self.jnp.arange(past.shape[2]) <= place[0]
        scores = self.library.nn.softmax(self.jnp.where(seen, scores, -self.jnp.inf))
        return (scores @ present[1]).reshape(1, -1), present

    def drawn(self, model: Any, *arguments: Any) -> list[Any]:
        """Return the weights of a model, as arrays of JAX."""
        self.library.eval_shape(lambda *given: model(self, *given), *arguments)
        return [self.jnp.asarray(weight) for weight in self.weights]

    def inference(self, work: Any) -> Any:
        def function(weights: Any, x: Any) -> Any:
            self.again(list(weights))
            return work.of(self, x)

        x, run = work.x(), self.library.jit(function)
        weights = self.drawn(work.of, x)
        return lambda: run(weights, x).block_until_ready()

    def training(self, work: Any) -> Any:
        cpu_jax = importlib.import_module("cpu_jax")
        self.is_training = True

        def loss(weights: Any, x: Any, labels: Any) -> Any:
            self.again(list(weights))
            return cpu_jax.cross_entropy(work.of(self, x), labels)

        weights = self.drawn(work.of, work.x())
        return cpu_jax.trained(loss, weights, work, work.x(), work.labels())

    def sampling(self, work: Any) -> Any:
        jnp, lax = self.jnp, self.library.lax
        shape = 2, work.heads, work.tokens, work.width // work.heads
        one, past = np.zeros(1, np.int32), [np.zeros(shape, np.float32)] * work.blocks

        def function(weights: Any, first: Any) -> Any:
            def body(carried: Any, place: Any) -> Any:
                self.again(list(weights))
                logits, present = work.gpt2(self, carried[0], place[None], carried[1])
                chosen = logits.argmax(-1).astype(jnp.int32)
                return (chosen, present), chosen[0]

            _, tokens = lax.scan(body, (first, past), jnp.arange(work.tokens))
            return jnp.concatenate([first, tokens])

        weights, run = self.drawn(work.gpt2, one, one, past), self.library.jit(function)
        return lambda: run(weights, one).block_until_ready()

    def recurrent(self, work: Any) -> Any:
        jax, jnp = self.library, self.jnp

        def layer(kernel: Any, bias: Any, x: Any) -> Any:
            def cell(state: Any, x: Any) -> Any:
                c, h = state
                gates = jnp.concatenate([x, h], 1) @ kernel + bias
                i, j, f, o = jnp.split(gates, 4, 1)
                c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(j)
                h = jax.nn.sigmoid(o) * jnp.tanh(c)
                return (c, h), h

            zero = jnp.zeros((work.batch, work.width))
            return jax.lax.scan(cell, (zero, zero), x)[1]

        def loss(weights: Any, x: Any, target: Any) -> Any:
            y = x.swapaxes(0, 1)
            for kernel, bias in weights:
                y = layer(kernel, bias, y)
            return jnp.square(y.swapaxes(0, 1) - target).mean()

        weights = [(kernel, np.zeros(4 * work.width, np.float32)) for kernel in work.kernels()]
        trained = importlib.import_module("cpu_jax").trained
        return trained(loss, weights, work, work.x(), work.target())


class Torch(Ops):
    """Eager functions and autograd."""

    def __init__(self, library: Any) -> None:
        super().__init__(library)
        self.functions = importlib.import_module("torch.nn.functional")

    def weight_of(self, array: Any) -> Any:
        torch = self.library
        if array.ndim < 4:
            return torch.from_numpy(array)
        order = (2, 3, 0, 1) if array.shape[3] == 1 else (3, 2, 0, 1)
        return self.image(array.transpose(order))

    def image(self, array: Any) -> Any:
        torch = self.library
        tensor = torch.from_numpy(np.ascontiguousarray(array))
        return tensor.contiguous(memory_format=torch.channels_last)

    def given(self, x: Any) -> Any:
        if x.ndim == 4:  # already channels last in memory
            return self.library.from_numpy(x).permute(0, 3, 1, 2)
        return self.library.from_numpy(x)

    def constant(self, array: Any) -> Any:
        return self.library.from_numpy(array)

    def channels(self, x: Any) -> int:
        return int(x.shape[1])

    def columns(self, x: Any) -> int:
        return int(x.shape[-1])

    def convolved(self, x: Any, filters: Any, stride: int, is_depthwise: bool) -> Any:
        window, groups = filters.shape[-1], x.shape[1] if is_depthwise else 1
        before, after = same_padding(x.shape[-1], window, stride)
        if before != after:
            x = self.functions.pad(x, (before, after, before, after))
            before = 0
        return self.functions.conv2d(x, filters, None, stride, before, 1, groups)

    def normalized(self, x: Any, scale: Any, offset: Any, *moments: Any) -> Any:
        mean, variance = moments or (None, None)
        return self.functions.batch_norm(
            x, mean, variance, scale, offset, not moments, eps=NORM_EPSILON
        )

    def bias_added(self, x: Any, bias: Any) -> Any:
        return x + bias[:, None, None]

    def relu(self, x: Any) -> Any:
        return self.functions.relu(x)

    def relu6(self, x: Any) -> Any:
        return self.functions.relu6(x)

    def tanh(self, x: Any) -> Any:
        return self.library.tanh(x)

    def gelu(self, x: Any) -> Any:
        return self.functions.gelu(x)

    def max_pool(self, x: Any, window: int) -> Any:
        return self.functions.max_pool2d(x, window, 2, ceil_mode=True)

    def mean(self, x: Any) -> Any:
        return x.mean((2, 3))

    def flat(self, x: Any) -> Any:
        return x.permute(0, 2, 3, 1).flatten(1)

    def product(self, x: Any, kernel: Any) -> Any:
        return x @ kernel

    def by_transposed(self, x: Any, table: Any) -> Any:
        return self.functions.linear(x, table)

    def rows(self, table: Any, ids: Any) -> Any:
        return table[ids.long()]

    def rows_normalized(self, x: Any, gain: Any, offset: Any) -> Any:
        return self.functions.layer_norm(x, gain.shape, gain, offset, EPSILON)

    def attention(self, q: Any, k: Any, v: Any, shape: Shape) -> Any:
        q, k, v = (x.view(*shape, -1).transpose(1, 2) for x in (q, k, v))
        seen = self.functions.scaled_dot_product_attention(q, k, v)
        return seen.transpose(1, 2).reshape(shape[0] * shape[1], -1)

    def attention_over(self, qkv: Any, past: Any, _: Any, heads: int) -> Any:
        torch = self.library
        q, k, v = qkv.view(3, heads, 1, -1)
        present = torch.cat([past, torch.stack([k, v])], -2)
        seen = self.functions.scaled_dot_product_attention(q[None], *present[:, None])
        return seen.reshape(1, -1), present

    def inference(self, work: Any) -> Any:
        x = work.x()

        def step() -> Any:
            self.again()
            with self.library.inference_mode():
                return work.of(self, self.given(x))

        return step

    def trained(self, loss: Any, weights: Any, work: Any) -> Any:
        optimizer = importlib.import_module("cpu_torch").optimizer_of(weights, work)

        def step() -> Any:
            optimizer.zero_grad()
            now = loss()
            now.backward()
            optimizer.step()
            return now.detach()

        return step

    def training(self, work: Any) -> Any:
        x, labels = work.x(), self.library.from_numpy(work.labels().astype("int64"))
        self.is_training = True

        def loss() -> Any:
            self.again()
            return self.functions.cross_entropy(work.of(self, self.given(x)), labels)

        loss()
        return self.trained(loss, self.weights, work)

    def sampling(self, work: Any) -> Any:
        torch, shape = self.library, (2, work.heads, 0, work.width // work.heads)

        def step() -> Any:
            tokens, past = [torch.zeros(1, dtype=torch.int32)], [torch.zeros(shape)] * work.blocks
            with torch.inference_mode():
                for place in range(work.tokens):
                    self.again()
                    logits, past = work.gpt2(self, tokens[-1], torch.tensor([place]), past)
                    tokens.append(logits.argmax(-1))
            return torch.cat(tokens)

        return step

    def recurrent(self, work: Any) -> Any:
        torch = self.library
        lstm = torch.nn.LSTM(work.width, work.width, work.layers, batch_first=True)
        with torch.no_grad():
            for layer, kernel in enumerate(work.kernels()):
                i, j, f, o = np.split(kernel.T, 4)
                both = torch.from_numpy(np.concatenate([i, f, j, o]))
                names = f"weight_ih_l{layer}", f"weight_hh_l{layer}"
                for name, part in zip(names, torch.split(both, work.width, 1)):
                    getattr(lstm, name).copy_(part)
                for name in (f"bias_ih_l{layer}", f"bias_hh_l{layer}"):
                    getattr(lstm, name).zero_()
                getattr(lstm, f"bias_ih_l{layer}")[work.width : 2 * work.width] = 1
        x, target = torch.from_numpy(work.x()), torch.from_numpy(work.target())
        weights = [getattr(lstm, name) for pair in lstm._all_weights for name in pair[:3]]
        return self.trained(lambda: torch.square(lstm(x)[0] - target).mean(), weights, work)


class Onnx(Ops):
    """Models of onnxruntime, written by onnx_text; tensors are `Value`s with their shapes."""

    def __init__(self, library: Any) -> None:
        super().__init__(library)
        self.text = importlib.import_module("onnx_text")
        self.values = importlib.import_module("cpu_onnx")
        self.model = self.text.Model()

    def weight_of(self, array: Any) -> Any:
        return array

    def constant(self, array: Any) -> Any:
        return array

    def channels(self, x: Any) -> int:
        return int(x.channels)

    columns = channels

    def made(self, x: Any, kind: str, *others: Any, channels: int = 0, **attributes: Any) -> Any:
        """Return the result of an op, with the number of its channels; 0: as many as `x` has."""
        value = x.op(kind, *others, **attributes)
        value.channels = channels or value.channels
        return value

    def convolved(self, x: Any, filters: Any, stride: int, is_depthwise: bool) -> Any:
        order = (2, 3, 0, 1) if is_depthwise else (3, 2, 0, 1)
        filters = np.ascontiguousarray(filters.transpose(order))
        return self.made(
            x,
            "Conv",
            filters,
            channels=len(filters),
            auto_pad="SAME_UPPER",
            strides=[stride, stride],
            kernel_shape=filters.shape[2:],
            group=len(filters) if is_depthwise else 1,
        )

    def normalized(self, x: Any, *parameters: Any) -> Any:
        return self.made(x, "BatchNormalization", *parameters, epsilon=NORM_EPSILON)

    def bias_added(self, x: Any, bias: Any) -> Any:
        return self.made(x, "Add", bias[:, None, None])

    def relu(self, x: Any) -> Any:
        return self.made(x, "Relu")

    def relu6(self, x: Any) -> Any:
        return self.made(x, "Clip", 0.0, 6.0)

    def gelu(self, x: Any) -> Any:
        return self.made(x, "Gelu")

    def max_pool(self, x: Any, window: int) -> Any:
        sizes = {"kernel_shape": [window, window], "strides": [2, 2]}
        return self.made(x, "MaxPool", auto_pad="SAME_UPPER", **sizes)

    def mean(self, x: Any) -> Any:
        return self.made(x, "ReduceMean", np.array([2, 3]), keepdims=0)

    def flat(self, x: Any) -> Any:
        last = self.made(x, "Transpose", perm=[0, 2, 3, 1])
        left = self.size // 32
        return self.made(last, "Flatten", channels=left * left * x.channels)

    def product(self, x: Any, kernel: Any) -> Any:
        return self.made(x, "MatMul", kernel, channels=kernel.shape[1])

    def by_transposed(self, x: Any, table: Any) -> Any:
        return self.made(x, "Gemm", table, channels=len(table), transB=1)

    def rows(self, table: Any, ids: Any) -> Any:
        value = self.values.Value(self.model, self.model.constant(table)).op("Gather", ids)
        value.channels = table.shape[1]
        return value

    def rows_normalized(self, x: Any, gain: Any, offset: Any) -> Any:
        return self.made(x, "LayerNormalization", gain, offset, epsilon=EPSILON)

    def attention_over(self, qkv: Any, past: Any, _: Any, heads: int) -> Any:
        width = qkv.channels // 3
        shape = np.array([3, heads, 1, width // heads])
        q, k, v = qkv.op("Reshape", shape).split(3, axis=0)
        new = k.op("Concat", v, axis=0)
        present = past.op("Concat", new, axis=2)
        keys, values = present.split(2, axis=0)
        scores = q.op("MatMul", keys.op("Transpose", perm=[0, 1, 3, 2])) * (width // heads) ** -0.5
        seen = scores.op("Softmax", axis=-1).op("MatMul", values)
        return self.made(seen, "Reshape", np.array([1, width]), channels=width), present

    def inference(self, work: Any) -> Any:
        x = np.ascontiguousarray(work.x().transpose(0, 3, 1, 2))
        value = self.values.Value(self.model, self.model.input("x", x.shape))
        value.channels, self.size = 3, work.size
        logits = work.of(self, value)
        session = self.values.opened(self.model.bytes(logits.name, (work.batch, work.classes)))
        return lambda: session.run(None, {"x": x})[0]

    def sampling(self, work: Any) -> Any:
        shape = 2, work.heads, 0, work.width // work.heads
        sizes = 2, work.heads, "tokens", work.width // work.heads
        names = [f"past{block}" for block in range(work.blocks)]
        made = partial(self.values.Value, self.model)
        token, place = (made(self.model.input(name, [1], np.int64)) for name in ("token", "place"))
        past = [made(self.model.input(name, sizes)) for name in names]
        logits, present = work.gpt2(self, token, place, past)
        chosen = self.made(logits, "ArgMax", axis=-1, keepdims=0)
        results = [(chosen.name, (1,), np.int64)]
        sizes = 2, work.heads, "more tokens", work.width // work.heads
        results += [(value.name, sizes, np.float32) for value in present]
        session = self.values.opened(self.model.bytes_of(results))

        def step() -> Any:
            tokens, past = [np.zeros(1, np.int64)], [np.zeros(shape, np.float32)] * work.blocks
            for place in range(work.tokens):
                feeds = {"token": tokens[-1], "place": np.array([place])} | dict(zip(names, past))
                chosen, *past = session.run(None, feeds)
                tokens.append(chosen)
            return np.concatenate(tokens)

        return step


def same_padding(size: int, window: int, stride: int) -> tuple[int, int]:
    """Return TensorFlow's padding SAME of one axis: before and after."""
    total = max((-(-size // stride) - 1) * stride + window - size, 0)
    return total // 2, total - total // 2


OPS = {"gpugraph": Graph, "tensorflow": Graph, "jax": Jax, "torch": Torch, "onnxruntime": Onnx}
