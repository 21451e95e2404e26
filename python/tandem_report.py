"""What a training script says to Tandem, and asks it: losses, where to save, whether to stop, which samples.

One file without dependencies, for Python 3.8 and later: copy it beside your script, or `pip install` this folder. A
script that uses it runs as well under torchrun or by hand: then nothing is reported and nobody asks it to stop.

    import tandem_report

    for epoch in range(epochs):
        for batch in tandem_report.logical_sampler(len(data), seed, epoch, global_batch=64):
            step += 1
            ...
            tandem_report.report(step, loss_sum, len(batch), epoch)

While Tandem runs the script, importing this file also makes SIGUSR2 print the stacks of all threads: so the log of a
rank that hangs says where.
"""

import faulthandler
import json
import math
import os
import select
import signal
import stat
import sys
import threading

__all__ = ["report", "checkpoint_dir", "should_stop", "logical_sampler", "held_out"]


# --- reporting ---------------------------------------------------------------------------------------------


def report(step, loss_sum, count, epoch=None, *, combined=False, samples=None, lr=None):
    """Says what this rank lost at a step. Every rank reports; Tandem adds sums and counts, and divides once.

    step      counted from 1; rises from report to report
    loss_sum  the sum of the losses of this rank's samples (or tokens), not their mean
    count     of how many; 0 where this rank had none of the batch
    epoch     counted from 0
    combined  loss_sum and count are those of all ranks already; one rank is enough then
    samples   which samples they were, so that `tandem verify` can tell whether two runs saw the same
    lr        the learning rate of the step

    Numbers may be tensors of one element. Floats arrive bit for bit; one that is not finite is written as the text
    "NaN", "Infinity" or "-Infinity", because JSON has no such numbers.

    Any thread. Waits while Tandem reads slower than it is told. ValueError: step or count is not what it can be.
    """
    if not _CHANNEL.is_heard():
        return
    line = {"step": _whole("step", step, 1), "loss_sum": _number(loss_sum), "count": _whole("count", count, 0)}
    if epoch is not None:
        line["epoch"] = _whole("epoch", epoch, 0)
    if combined:
        line["combined"] = True
    if samples is not None:
        line["samples"] = [int(_scalar(sample)) for sample in samples]
    if lr is not None:
        line["lr"] = _number(lr)
    _CHANNEL.write(json.dumps(line, separators=(",", ":"), allow_nan=False).encode() + b"\n")


def checkpoint_dir():
    """The folder of this job's checkpoints, which is there already; None where the job has no `checkpoint`.

    A restarted or resized job finds there what it saved. Save beside the place and rename, from one rank.
    """
    return os.environ.get("TANDEM_CHECKPOINT_DIR")


def should_stop():
    """Whether the job is to pause, for another number of workers or for another job. Once true it stays so.

    Ranks may hear of it between different steps. Combine the answers, for example with an all-reduce of MAX, so that all
    ranks stop after the same step; then save and exit with 0. Never waits. Any thread.
    """
    return _CHANNEL.told_to_stop()


def _scalar(value):
    """A tensor of one element as a number; torch warns of float(tensor) where that has a gradient."""
    return value.item() if hasattr(value, "item") else value


def _number(value):
    number = float(_scalar(value))
    return number if math.isfinite(number) else json.dumps(number)


def _whole(name, value, least):
    given = _scalar(value)
    number = int(given)
    if number != given or number < least:
        raise ValueError(f"{name} is {value}: it must be a whole number of at least {least}")
    return number


class _Channel:
    """The descriptor TANDEM_REPORT_FD: lines of JSON in both directions."""

    def __init__(self):
        self._lock = threading.Lock()
        self._descriptor = None
        self._missing = None
        self._heard = b""
        self._stop = False
        named = os.environ.get("TANDEM_REPORT_FD")
        if named is None:
            return
        # Whoever starts a script in between may have closed it, and something else may have its number.
        if _is_socket(named):
            self._descriptor = int(named)
        else:
            self._missing = named

    def is_open(self):
        return self._descriptor is not None

    def is_heard(self):
        """Whether there is anyone to report to; where there should be, says once why not."""
        with self._lock:
            self._say_that_it_is_missing()
            return self.is_open()

    def write(self, line):
        with self._lock:
            try:
                while line and self._descriptor is not None:
                    line = line[os.write(self._descriptor, line):]
            except (BrokenPipeError, ConnectionResetError):
                self._descriptor = None  # Nobody listens any more: no reason for a training to fail.

    def told_to_stop(self):
        with self._lock:
            while not self._stop and self._descriptor is not None and _has_input(self._descriptor):
                self._hear()
            return self._stop

    def _hear(self):
        try:
            heard = os.read(self._descriptor, 4096)
        except ConnectionResetError:
            heard = b""
        if not heard:
            self._descriptor = None
            return
        *lines, self._heard = (self._heard + heard).split(b"\n")
        self._stop = any(json.loads(line).get("stop") is True for line in lines)

    def _say_that_it_is_missing(self):
        if self._missing is not None:
            print(f"tandem_report: TANDEM_REPORT_FD is {self._missing}, which is not open in this process: what started "
                  "it closes descriptors. Its losses are not reported.", file=sys.stderr, flush=True)
            self._missing = None


def _is_socket(descriptor):
    try:
        return stat.S_ISSOCK(os.fstat(int(descriptor)).st_mode)
    except (ValueError, OSError):
        return False


def _has_input(descriptor):
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


_CHANNEL = _Channel()
if _CHANNEL.is_open():
    faulthandler.register(signal.SIGUSR2, file=2, all_threads=True, chain=False)


# --- the samples of a step ---------------------------------------------------------------------------------


def logical_sampler(n, seed, epoch, global_batch, logical_ranks=None, rank=None, world_size=None, drop_last=False, *,
                    shuffle=True):
    """The samples of one epoch in exactly the order in which Tandem's own trainer visits them.

    Iterating gives one list of sample numbers, 0..n-1, a global step: those of this rank. `by_logical_rank()` gives the
    same as one list a logical rank; len() is the number of steps. It serves as `batch_sampler` of a DataLoader; make a
    new one for each epoch.

    Each global batch is cut into `logical_ranks` shares, and a rank has those of a contiguous range of them. So
    the batches do not depend on the number of ranks: no sample is padded, repeated or left out. Shares differ by at
    most one sample; where a batch has fewer samples than logical ranks, which the short one at the end of an epoch
    may, some are empty.

    n              training samples; those that `held_out` names are not among them
    epoch          counted from 0
    logical_ranks  left out: TANDEM_LOGICAL_RANKS, else world_size rounded up to a power of two
    rank           left out: RANK, else 0
    world_size     left out: WORLD_SIZE, else 1
    drop_last      leave out the short batch at the end

    ValueError: a number is outside its range, or drop_last leaves no batch.
    """
    world_size = _given(world_size, "WORLD_SIZE", 1)
    logical_ranks = _given(logical_ranks, "TANDEM_LOGICAL_RANKS", 1 << (world_size - 1).bit_length())
    return LogicalSampler(n, seed, epoch, global_batch, logical_ranks, _given(rank, "RANK", 0), world_size, drop_last,
                          shuffle)


class LogicalSampler:
    """One epoch of one rank: see logical_sampler."""

    def __init__(self, n, seed, epoch, global_batch, logical_ranks, rank, world_size, drop_last, shuffle):
        _check("n", n, 1)
        _check("seed", seed, 0, _MASK)
        _check("epoch", epoch, 0, _MASK)
        _check("global_batch", global_batch, 1, n if drop_last else None)
        _check("world_size", world_size, 1, logical_ranks)
        _check("rank", rank, 0, world_size - 1)
        self._samples, self._batch, self._logical_ranks = n, global_batch, logical_ranks
        self._key = _mix_keys(_USE_EPOCH_ORDER, seed, epoch) if shuffle else None
        self._mine = range(rank * logical_ranks // world_size, (rank + 1) * logical_ranks // world_size)
        self._steps = n // global_batch if drop_last else -(-n // global_batch)

    def __len__(self):
        return self._steps

    def __iter__(self):
        for shares in self.by_logical_rank():
            yield [sample for share in shares for sample in share]

    def by_logical_rank(self):
        """For each step, a list of the lists of this rank's logical ranks."""
        order = range(self._samples) if self._key is None else _keyed_permutation(self._samples, self._key)
        for step in range(self._steps):
            begin = step * self._batch
            size = min(self._batch, self._samples - begin)
            # Where each share begins, and the last one ends.
            cuts = [begin + size * index // self._logical_ranks for index in range(self._logical_ranks + 1)]
            yield [list(order[cuts[index]:cuts[index + 1]]) for index in self._mine]


def held_out(n, share, seed):
    """Which of n samples Tandem's own trainer only measures on, with `evaluate: {holdout: share}`; rising."""
    # Half away from zero, as llround; Python's round goes to even.
    count = math.floor(n * share + 0.5)
    return sorted(_keyed_permutation(n, _mix_keys(_USE_HOLDOUT, seed))[:count])


def _given(value, variable, otherwise):
    return int(os.environ.get(variable, otherwise)) if value is None else value


def _check(name, value, least, most=None):
    if value < least or (most is not None and value > most):
        bounds = f"at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name} is {value}: it must be {bounds}")


# As common/keyed_hash.h and worker/data/permutation.cc.
_MASK = (1 << 64) - 1
_GOLDEN_GAMMA = 0x9E3779B97F4A7C15
_USE_EPOCH_ORDER = 2
_USE_HOLDOUT = 4


def _scramble(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


def _mix_keys(use, *keys):
    mixed = _scramble((use + _GOLDEN_GAMMA * (len(keys) + 1)) & _MASK)
    for key in keys:
        mixed = _scramble(((mixed ^ key) + _GOLDEN_GAMMA) & _MASK)
    return mixed


def _keyed_permutation(n, key):
    """0..n-1, swapped from the back to the front (Fisher-Yates)."""
    order = list(range(n))
    state = key
    for left in range(n, 1, -1):
        # Values below this would favour small remainders.
        rejected = (1 << 64) % left
        value = -1
        while value < rejected:
            state = (state + _GOLDEN_GAMMA) & _MASK
            value = _scramble(state)
        other = value % left
        order[left - 1], order[other] = order[other], order[left - 1]
    return order
