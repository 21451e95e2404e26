"""The order of the samples beside that of the trainer, which `sample-order` prints."""

import argparse
import itertools
import json
import os
import subprocess
import sys
import unittest
from unittest import mock

from tandem_report import held_out, logical_sampler

SAMPLE_ORDER = None


def order_in_trainer(cases):
    lines = "".join(" ".join(str(int(number)) for number in case) + "\n" for case in cases)
    printed = subprocess.run([SAMPLE_ORDER], input=lines, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in printed.splitlines()]


def order_in_python(n, seed, epoch, batch, logical_ranks, world_size, drop_last, shuffle):
    samplers = [logical_sampler(n, seed, epoch, batch, logical_ranks, rank, world_size, drop_last, shuffle=shuffle)
                for rank in range(world_size)]
    return [list(sampler.by_logical_rank()) for sampler in samplers]


class LogicalSampler(unittest.TestCase):
    def expect_trainers_order(self, cases):
        orders = order_in_trainer(cases)
        self.assertEqual(len(orders), len(cases))
        for case, order in zip(cases, orders):
            self.assertEqual(order_in_python(*case), order, case)

    def test_any_shape_has_the_trainers_order(self):
        # Fewer samples than logical ranks, short last batches, world sizes that divide nothing.
        shapes = itertools.product((1, 2, 3, 7, 8, 10, 33), (1, 3, 8, 24), (1, 2, 4, 8))
        cases = [(n, 42, 1, batch, logical_ranks, world_size, drop_last, True)
                 for n, batch, logical_ranks in shapes
                 for world_size in range(1, logical_ranks + 1)
                 for drop_last in (False, True) if n >= batch or not drop_last]
        self.assertGreater(len(cases), 500)
        self.expect_trainers_order(cases)

    def test_any_seed_and_epoch_has_the_trainers_order(self):
        numbers = (0, 1, 2, 41, 2**31, 2**32 - 1)
        self.expect_trainers_order([(101, seed, epoch, 16, 4, 3, False, True)
                                    for seed, epoch in itertools.product(numbers, numbers)])

    def test_without_shuffling_has_the_trainers_order(self):
        self.expect_trainers_order([(n, 7, 2, 8, 4, 3, False, False) for n in (1, 8, 30)])

    def test_many_samples_have_the_trainers_order(self):
        self.expect_trainers_order([(60000, 1, 3, 256, 8, 5, True, True)])

    def test_every_world_size_sees_each_sample_once_and_the_same_batches(self):
        batches = list(logical_sampler(37, 5, 0, 16, 8, 0, 1))
        self.assertEqual(sorted(sample for batch in batches for sample in batch), list(range(37)))
        for world_size in range(2, 9):
            ranks = [list(logical_sampler(37, 5, 0, 16, 8, rank, world_size)) for rank in range(world_size)]
            self.assertEqual([sum(shares, []) for shares in zip(*ranks)], batches)

    def test_place_comes_from_the_environment(self):
        with mock.patch.dict(os.environ, RANK="1", WORLD_SIZE="3", TANDEM_LOGICAL_RANKS="8"):
            self.assertEqual(list(logical_sampler(40, 1, 0, 16)), list(logical_sampler(40, 1, 0, 16, 8, 1, 3)))

    def test_logical_ranks_under_torchrun_are_the_world_size_rounded_up(self):
        with mock.patch.dict(os.environ, RANK="2", WORLD_SIZE="3"):
            os.environ.pop("TANDEM_LOGICAL_RANKS", None)
            self.assertEqual(list(logical_sampler(40, 1, 0, 16)), list(logical_sampler(40, 1, 0, 16, 4, 2, 3)))

    def test_length_is_the_number_of_steps(self):
        for drop_last in (False, True):
            sampler = logical_sampler(33, 1, 0, 8, 4, 0, 1, drop_last)
            self.assertEqual(len(sampler), len(list(sampler)))

    def test_numbers_out_of_range_are_refused_by_name(self):
        for name, arguments in {
            "n": (0, 1, 0, 8, 4, 0, 1), "seed": (8, -1, 0, 8, 4, 0, 1), "epoch": (8, 1, -1, 8, 4, 0, 1),
            "global_batch": (8, 1, 0, 9, 4, 0, 1, True), "rank": (8, 1, 0, 8, 4, 2, 2),
            "world_size": (8, 1, 0, 8, 4, 0, 5),
        }.items():
            with self.assertRaisesRegex(ValueError, f"^{name} is "):
                logical_sampler(*arguments)


class HeldOut(unittest.TestCase):
    def test_share_is_rounded_half_away_from_zero(self):
        self.assertEqual([len(held_out(n, 0.5, 1)) for n in (4, 5, 7)], [2, 3, 4])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--sample-order", required=True, help="the binary that prints the trainer's order")
    SAMPLE_ORDER = parser.parse_args().sample_order
    unittest.main(argv=sys.argv[:1])
