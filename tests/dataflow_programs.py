"""Random programs of raw control flow: branches that nobody balanced, loops of all shapes."""

from __future__ import annotations

from random import Random

from .dataflow import Op, Output, Program

__all__ = ["drawn"]

INPUTS = 3


def drawn(random: Random, loops: int, size: int, grows: bool, devices: list[str | None]) -> Program:
    """Return a program of up to `loops` loops in each other. `grows`: whether shapes change."""
    drawing = _Drawing(random, size, grows)
    pool = _Pool([(drawing.program.add("arg", arg=index), 0) for index in range(INPUTS)], [])
    drawing.body(pool, 0, loops)
    for op in drawing.program.ops:
        if op.kind not in ("enter", "merge", "next"):  # a loop variable has one place
            op.device = random.choice(devices)
    return drawing.program


class _Pool:
    """The available operands: vectors and predicates."""

    def __init__(self, vectors: list[Output], preds: list[Output]) -> None:
        self.vectors = vectors
        self.preds = preds


class _Drawing:
    def __init__(self, random: Random, size: int, grows: bool) -> None:
        self.program = Program()
        self.random = random
        self.size = size
        self.kinds = ["mix", "mix", "tanh", "same", *(["join", "head"] if grows else [])]

    def often(self, part: float) -> bool:
        return self.random.random() < part

    def vector(self, pool: _Pool) -> Output:
        recent = self.random.random() < 0.6
        return self.random.choice(pool.vectors[-4:] if recent else pool.vectors)

    def pred(self, pool: _Pool, loop: int) -> Output:
        if not pool.preds or self.often(0.4):
            limit = self.random.uniform(-1, 1)
            pool.preds.append(
                (self.program.add("less", self.vector(pool), arg=limit, loop=loop), 0)
            )
            return pool.preds[-1]
        return self.random.choice(pool.preds)

    def waits(self, pool: _Pool, part: float = 0.15) -> list[Op]:
        return [self.random.choice(pool.vectors + pool.preds)[0]] if self.often(part) else []

    def body(self, pool: _Pool, loop: int, loops: int) -> None:
        """Add ops that take operands from the pool, and put their results into it."""
        draws = [self.step, self.constant, self.logic, self.branch, self.branch, self.merge]
        for _ in range(self.random.randint(2, self.size)):
            if loops and self.often(0.2):
                self.loop(pool, loop, loops - 1)
            else:
                self.random.choice(draws)(pool, loop)

    # -- ops

    def step(self, pool: _Pool, loop: int) -> None:
        kind = self.random.choice(self.kinds)
        given = [self.vector(pool) for _ in range(2 if kind in ("mix", "join") else 1)]
        made = self.program.add(kind, *given, after=self.waits(pool), loop=loop)
        pool.vectors.append((made, 0))

    def constant(self, pool: _Pool, loop: int) -> None:
        """Add a constant, which depends on some op if it is in a loop; maybe after an op with
        effects.
        """
        before = [self.vector(pool)[0]] if loop or self.often(0.7) else []
        if before and self.often(0.3):
            kind = self.random.choice(["trigger", "nothing"])
            before = [self.program.add(kind, after=before, loop=loop)]
        if self.often(0.2):
            made = self.program.add("true", after=before, arg=self.often(0.5), loop=loop)
            pool.preds.append((made, 0))
        else:
            number = round(self.random.uniform(-1, 1), 2)
            made = self.program.add("const", after=before, arg=number, loop=loop)
            pool.vectors.append((made, 0))

    def logic(self, pool: _Pool, loop: int) -> None:
        one, other = self.pred(pool, loop), self.pred(pool, loop)
        given = (one, other) if self.often(0.6) else (one,)
        made = self.program.add("and" if len(given) == 2 else "not", *given, loop=loop)
        pool.preds.append((made, 0))

    def branch(self, pool: _Pool, loop: int) -> None:
        """A Switch, with something on its sides, and perhaps the Merge that belongs to it."""
        pred = self.pred(pool, loop)
        switch = self.program.add(
            "switch", self.vector(pool), pred, after=self.waits(pool), loop=loop
        )
        sides: list[Output] = [(switch, 0), (switch, 1)]
        pool.vectors += sides
        if self.often(0.3):
            other = self.program.add("switch", self.pred(pool, loop), pred, loop=loop)
            pool.preds += [(other, 0), (other, 1)]
        for _ in range(self.random.randint(0, 2)):
            taken = self.random.choice(sides)
            made = self.program.add("mix", taken, self.vector(pool), loop=loop)
            pool.vectors.append((made, 0))
        if self.often(0.7):
            self.join(pool, loop, [self.chain(pool, loop, side) for side in sides])

    def chain(self, pool: _Pool, loop: int, end: Output) -> Output:
        while self.often(0.5):
            end = (self.program.add(self.random.choice(["tanh", "same"]), end, loop=loop), 0)
            pool.vectors.append(end)
        return end

    def merge(self, pool: _Pool, loop: int) -> None:
        self.join(pool, loop, [self.vector(pool) for _ in range(self.random.randint(1, 3))])

    def join(self, pool: _Pool, loop: int, inputs: list[Output]) -> None:
        if self.often(0.15):
            inputs.append(self.vector(pool))
        self.random.shuffle(inputs)
        merge = self.program.add("merge", *inputs, after=self.waits(pool, 0.05), loop=loop)
        pool.vectors.append((merge, 0))
        if self.often(0.2):
            pool.vectors.append((self.program.add("vector", (merge, 1), loop=loop), 0))
        if self.often(0.1):
            pool.preds.append((self.program.add("second", (merge, 1), loop=loop), 0))

    # -- loops

    def loop(self, pool: _Pool, around: int, loops: int) -> None:
        """A loop that counts, so that it ends; its other variables may end earlier."""
        loop = len(self.program.around) + 1
        self.program.around[loop] = around
        _LoopDrawing(self, pool, loop, around).draw(loops)


class _LoopDrawing:
    """One loop: `often` asked at each turn whether it is as tf.while_loop would make it."""

    def __init__(self, drawing: _Drawing, pool: _Pool, loop: int, around: int) -> None:
        self.drawing = drawing
        self.random = drawing.random
        self.program = drawing.program
        self.pool = pool
        self.loop = loop
        self.around = around
        self.is_own = drawing.often(0.3)  # variables end by predicates of their own
        self.is_opposite = drawing.often(0.3)  # it goes on while its condition is false

    def add(self, kind: str, *inputs: Output, **given: object) -> Output:
        return self.program.add(kind, *inputs, loop=self.loop, **given), 0

    def enter(self, tensor: Output, is_constant: bool) -> Output:
        return self.add("enter", tensor, arg=(self.loop, is_constant))

    def draw(self, loops: int) -> None:
        drawing, often = self.drawing, self.drawing.often
        zero = self.program.add("zero", drawing.vector(self.pool), loop=self.around)
        number = self.add("merge", self.enter((zero, 0), False))
        variables = [
            self.add("merge", self.enter(drawing.vector(self.pool), False))
            for _ in range(self.random.randint(1, 3))
        ]
        inner = self.entered(variables)
        below = self.add("below", number, arg=self.random.randint(0, 3))
        if often(0.5):
            inner.preds.append(below)
        if often(0.4):
            drawing.body(inner, self.loop, 0)
        switches, going = self.switches(inner, below, number, variables)
        following = _Pool([(switch, going) for switch in switches[1:]], list(inner.preds))
        following.vectors += inner.vectors if often(0.5) else []
        drawing.body(following, self.loop, loops)
        self.close(number, variables, following, (switches[0], going))
        self.leave(inner, following, switches, 1 - going)

    def entered(self, variables: list[Output]) -> _Pool:
        """Return the operands that the loop may take at the start of an iteration."""
        often, pool = self.drawing.often, self.pool
        inner = _Pool(list(variables), [])
        for _ in range(self.random.randint(0, 2)):
            inner.vectors.append(self.enter(self.drawing.vector(pool), True))
        if often(0.25):
            inner.vectors.append(self.enter(self.drawing.vector(pool), False))
        if often(0.3):
            inner.preds.append(self.enter(self.drawing.pred(pool, self.around), True))
        if often(0.2):
            inner.vectors.append(self.add("vector", (self.random.choice(variables)[0], 1)))
        return inner

    def switches(
        self, inner: _Pool, below: Output, number: Output, variables: list[Output]
    ) -> tuple[list[Op], int]:
        """Return the Switch of the number and of each variable, and the side on which the loop goes
        on.
        """
        cond = below
        if self.drawing.often(0.4):
            cond = self.add("and", below, self.drawing.pred(inner, self.loop))
        if self.is_opposite:
            cond = self.add("not", cond)
        if self.drawing.often(0.9):
            cond = self.add("cond", cond)
        made = [self.add("switch", number, cond)[0]]
        for variable in variables:
            taken, asked = variable, cond
            if self.drawing.often(0.2):
                taken = self.random.choice(inner.vectors)
            if self.is_own and not self.is_opposite and self.drawing.often(0.6):
                asked = self.add("and", below, self.drawing.pred(inner, self.loop))
            made.append(self.add("switch", taken, asked)[0])
        return made, 0 if self.is_opposite else 1

    def close(self, number: Output, variables: list[Output], pool: _Pool, counting: Output) -> None:
        """Add the ops that lead back. No variable outlives the number that counts."""
        back = self.add("next", self.add("next number", counting))
        number[0].inputs.append(back)
        for variable in variables:
            value = self.random.choice(pool.vectors)
            value = self.add("gate", value, counting)
            variable[0].inputs.append(self.add("next", value))

    def leave(self, inner: _Pool, following: _Pool, switches: list[Op], ending: int) -> None:
        for switch in switches[1:]:
            self.pool.vectors.append(self.add("exit", (switch, ending)))
        if self.drawing.often(0.2):
            self.pool.vectors.append(
                self.add("exit", self.random.choice(inner.vectors + following.vectors))
            )
        number = self.add("exit", (switches[0], ending))
        self.pool.vectors.append((self.program.add("vector", number, loop=self.around), 0))
