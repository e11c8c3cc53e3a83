#!/usr/bin/env python3
"""Writes golden.txt: 200 steps of every optimiser in double precision, by implementations that are not ours.

PyTorch (Debian: python3-torch) for what it has; for row-wise Adagrad and FTRL the formulas of the papers, below:
    python3 tests/data/optimizers/make_golden.py > tests/data/optimizers/golden.txt
"""
import math
import random

import torch

STEPS, SHOWN = 200, (1, 10, 200)
START = [0.5, -1.25, 0.0, 2.0]
SIZES = [0.01, 1.0, 30.0, 0.5]  # of the gradients of each value


def make_gradients():
    """Noise around a slope, in 1/1024, so that every number is exact as a float; now and then 0 for all values."""
    chance = random.Random(20261202)
    rows = [[round((chance.uniform(-1, 1) + 0.25) * size * 1024) / 1024 for size in SIZES] for _ in range(STEPS)]
    for step in range(6, STEPS, 17):
        rows[step] = [0.0] * len(SIZES)
    return rows


def with_torch(kind, **settings):
    def run(gradients):
        value = torch.tensor(START, dtype=torch.float64, requires_grad=True)
        optimizer = kind([value], **settings)
        for gradient in gradients:
            value.grad = torch.tensor(gradient, dtype=torch.float64)
            optimizer.step()
            yield value.tolist()
    return run


def rowwise_adagrad(rate, epsilon=1e-10, initial=0.0, l2=0.0):
    """Mudigere et al., Software-Hardware Co-design for ... Recommendation Models, 2022, 4.1.4: the moment of a row is the mean of the squares."""
    def run(gradients):
        row, moment = list(START), initial
        for gradient in gradients:
            g = [a + l2 * w for a, w in zip(gradient, row)]
            moment += math.fsum(a * a for a in g) / len(g)
            row = [w - rate * a / (math.sqrt(moment) + epsilon) for w, a in zip(row, g)]
            yield row
    return run


def ftrl(alpha, beta=1.0, l1=0.0, l2=0.0, start=None):
    """McMahan et al., Ad Click Prediction: a View from the Trenches, 2013, algorithm 1, which starts at 0. A start elsewhere is a z for
    which the algorithm's weight is that start."""
    def weight(z, n):
        if abs(z) <= l1:
            return 0.0
        sign = 1.0 if z > 0 else -1.0
        return -(z - sign * l1) / ((beta + math.sqrt(n)) / alpha + l2)

    def run(gradients):
        n = [0.0] * len(START)
        z = [0.0 if w == 0 else -math.copysign(l1 + abs(w) * (beta / alpha + l2), w) for w in start or [0.0] * len(START)]
        for gradient in gradients:
            for i, g in enumerate(gradient):
                w = weight(z[i], n[i])
                sigma = (math.sqrt(n[i] + g * g) - math.sqrt(n[i])) / alpha
                z[i] += g - sigma * w
                n[i] += g * g
            yield [weight(z[i], n[i]) for i in range(len(n))]
    return run


ZERO = [0.0] * len(START)
T, P = 'PyTorch ' + torch.__version__, "the paper's formula"
# name, whose numbers, the optimiser in the words of a job, learning rate, start, run
CASES = [
    ('sgd', T, 'sgd {}', 0.01, START, with_torch(torch.optim.SGD, lr=0.01)),
    ('sgd_l2', T, 'sgd {l2: 0.125}', 0.01, START, with_torch(torch.optim.SGD, lr=0.01, weight_decay=0.125)),
    ('momentum', T, 'momentum {}', 0.005, START, with_torch(torch.optim.SGD, lr=0.005, momentum=0.9)),
    ('momentum_l2', T, 'momentum {momentum: 0.75 l2: 0.125}', 0.005, START,
     with_torch(torch.optim.SGD, lr=0.005, momentum=0.75, weight_decay=0.125)),
    ('adagrad', T, 'adagrad {}', 0.02, START, with_torch(torch.optim.Adagrad, lr=0.02, eps=1e-10)),
    ('adagrad_l2', T, 'adagrad {initial_accumulator: 0.5 epsilon: 0.001 l2: 0.125}', 0.02, START,
     with_torch(torch.optim.Adagrad, lr=0.02, eps=0.001, initial_accumulator_value=0.5, weight_decay=0.125)),
    ('adam', T, 'adam {}', 0.001, START, with_torch(torch.optim.Adam, lr=0.001)),
    ('adam_l2', T, 'adam {beta1: 0.75 beta2: 0.96875 epsilon: 0.001 l2: 0.125}', 0.001, START,
     with_torch(torch.optim.Adam, lr=0.001, betas=(0.75, 0.96875), eps=0.001, weight_decay=0.125)),
    ('adamw', T, 'adamw {}', 0.001, START, with_torch(torch.optim.AdamW, lr=0.001)),
    ('adamw_decay', T, 'adamw {weight_decay: 0.5}', 0.001, START, with_torch(torch.optim.AdamW, lr=0.001, weight_decay=0.5)),
    ('rowwise_adagrad', P, 'rowwise_adagrad {}', 0.02, START, rowwise_adagrad(0.02)),
    ('rowwise_adagrad_l2', P, 'rowwise_adagrad {initial_accumulator: 0.5 epsilon: 0.001 l2: 0.125}', 0.02, START,
     rowwise_adagrad(0.02, epsilon=0.001, initial=0.5, l2=0.125)),
    ('ftrl', P, 'ftrl {}', 0.05, ZERO, ftrl(0.05)),
    ('ftrl_l1_l2', P, 'ftrl {beta: 0.5 l1: 1.5 l2: 0.125}', 0.05, ZERO, ftrl(0.05, beta=0.5, l1=1.5, l2=0.125)),
    ('ftrl_elsewhere', P, 'ftrl {l1: 0.0625 l2: 0.125}', 0.05, START, ftrl(0.05, l1=0.0625, l2=0.125, start=START)),
]


def numbers(values):
    return ' '.join(f'{value:.17g}' for value in values)


def main():
    gradients = make_gradients()
    print('# Written by make_golden.py. gradient: of one step, for each of the values. case NAME RATE, then whose numbers these are, the')
    print("# optimiser in a job's words, where the values start, and where they are after so many steps.")
    for gradient in gradients:
        print('gradient', numbers(gradient))
    for name, source, words, rate, start, run in CASES:
        print(f'case {name} {rate}\nby {source}\noptimizer {words}\nstart {numbers(start)}')
        for step, values in enumerate(run(gradients), 1):
            if step in SHOWN:
                print('after', step, numbers(values))


if __name__ == '__main__':
    main()
