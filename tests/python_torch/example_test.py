"""examples/ddp_digits: the same loss on one and on two ranks, under torchrun, and through a pause."""

import re
import sys

import running

LOSS = re.compile(r"after (\d+) steps: loss (\d+\.\d+)")


class Example(running.ScriptTest):
    def setUp(self):
        super().setUp()
        self.script = [running.source("examples/ddp_digits/train.py"), running.source("examples/data/digits.csv"),
                       "--epochs", "3"]
        self.options = ["--set", "seed=42", "--set", "logical_ranks=4"]

    def run_on(self, ranks):
        finished = self.run_to_success(ranks, *self.options, "--", sys.executable, *self.script)
        [(steps, loss)] = LOSS.findall(finished.printed)
        self.assertEqual(int(finished.job["step"]), int(steps))
        # What rank 0 prints is what the reports of all ranks come to.
        self.assertAlmostEqual(finished.job["loss"], float(loss), delta=1e-6)
        return finished.job["loss"]

    def test_one_and_two_ranks_and_torchrun_agree(self):
        losses = [self.run_on(1), self.run_on(2)]
        [(_, loss)] = LOSS.findall(running.torchrun(2, *self.script))
        for other in (losses[1], float(loss)):
            self.assertAlmostEqual(other, losses[0], delta=1e-3 * losses[0])

    def test_specification_runs_as_it_is(self):
        finished = self.run_to_success(2, running.source("examples/ddp_digits/ddp_digits.yaml"))
        self.assertEqual((finished.job["step"], finished.job["logicalRanks"]), ("290", 4))

    def test_resized_on_the_way_it_goes_on_where_it_was(self):
        cluster = running.Cluster(self, slots=2)
        job_id = cluster.tandem("submit", "--workers", "1", "--set", f"checkpoint.dir={self.folder}/saved",
                                *self.options, "--", sys.executable, *self.script[:-1], "40").strip()
        cluster.wait_until(lambda: int(cluster.job(job_id)["step"]) > 200)
        cluster.tandem("resize", job_id, "2")
        cluster.tandem("wait", job_id)
        job = cluster.job(job_id)
        self.assertEqual([attempt["cause"]["code"] for attempt in job["attempts"] if "cause" in attempt],
                         ["CAUSE_CODE_RESIZED"], job)
        self.assertEqual((job["worldSize"], job["step"]), (2, "1160"))
        history = cluster.history(job_id)
        self.assertEqual([int(sample["step"]) for sample in history], list(range(1, 1161)))
        # It begins at 2.3, and would do so again with new weights.
        first = int(job["firstStep"])
        self.assertGreater(first, 200)
        self.assertLess(max(loss_of(sample) for sample in history[first:first + 10]), 1.5)


def loss_of(sample):
    return sample["lossSum"] / int(sample["count"])


if __name__ == "__main__":
    running.main()
