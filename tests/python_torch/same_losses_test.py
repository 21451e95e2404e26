"""A script that knows nothing of Tandem, unchanged: the losses that it prints are those it has under torchrun."""

import re
import sys

import running

LOSS = re.compile(r"world \d+ .* loss \d+\.\d{4}")


class SameLosses(running.ScriptTest):
    def setUp(self):
        super().setUp()
        self.script = [running.source("bench/peer/ddp_digits.py"), running.source("examples/data/digits.csv")]

    def loss_under_torchrun(self, ranks, steps):
        return loss_in(running.torchrun(ranks, *self.script, STEPS=str(steps)))

    def loss_under_tandem(self, ranks, steps):
        return loss_in(self.run_to_success(ranks, "--", sys.executable, *self.script, STEPS=str(steps)).printed)

    def test_on_two_ranks_and_any_number_of_steps(self):
        losses = [self.loss_under_tandem(2, steps) for steps in (30, 200)]
        self.assertEqual(losses, [self.loss_under_torchrun(2, steps) for steps in (30, 200)])
        # Control: the text can differ.
        self.assertNotEqual(losses[0], losses[1])

    def test_on_one_rank(self):
        self.assertEqual(self.loss_under_tandem(1, 100), self.loss_under_torchrun(1, 100))

    def test_loss_is_found_in_what_it_prints(self):
        finished = self.run_to_success(2, "--set", r"command.parse.loss=loss ([0-9.]+)", "--", sys.executable,
                                       *self.script, STEPS="50")
        self.assertEqual(f"{finished.job['loss']:.4f}", loss_in(finished.printed).split()[-1])


def loss_in(printed):
    """"world 2 loss 0.1234": without how fast it was."""
    [line] = LOSS.findall(printed)
    return re.sub(r" first .*;", "", line)


if __name__ == "__main__":
    running.main()
