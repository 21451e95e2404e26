"""Which samples are held out: the rule of worker/data/holdout.cc and common/keyed_hash.h, written once more."""

import math

MASK = (1 << 64) - 1
GOLDEN_GAMMA = 0x9E3779B97F4A7C15
USE_HOLDOUT = 4


def scramble(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def mix_keys(use, *keys):
    mixed = scramble((use + GOLDEN_GAMMA * (len(keys) + 1)) & MASK)
    for key in keys:
        mixed = scramble(((mixed ^ key) + GOLDEN_GAMMA) & MASK)
    return mixed


def keyed_permutation(n, key):
    state = key

    def below(bound):
        nonlocal state
        while True:
            state = (state + GOLDEN_GAMMA) & MASK
            value = scramble(state)
            if value >= (1 << 64) % bound:
                return value % bound

    order = list(range(n))
    for left in range(n, 1, -1):
        other = below(left)
        order[left - 1], order[other] = order[other], order[left - 1]
    return order


def held_out(samples, share, seed):
    """Rising."""
    # Half away from zero, as llround; Python's round goes to even.
    count = math.floor(samples * share + 0.5)
    return sorted(keyed_permutation(samples, mix_keys(USE_HOLDOUT, seed))[:count])
