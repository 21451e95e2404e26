"""A perceptron learns to read digits, with DistributedDataParallel, and tells Tandem how it goes.

    tandem run examples/ddp_digits/ddp_digits.yaml --local 2
    tandem run --local 2 -- python3 examples/ddp_digits/train.py examples/data/digits.csv
    python3 -m torch.distributed.run --standalone --nproc-per-node=2 examples/ddp_digits/train.py examples/data/digits.csv

Under torchrun it trains the same, and what it reports goes nowhere.
"""

import argparse
import itertools
import os

import tandem_report
import torch
import torch.distributed as dist
from torch import nn

BATCH = 64  # over all ranks


def load(path):
    with open(path) as lines:
        table = torch.tensor([[int(number) for number in line.split(",")] for line in lines])
    return table[:, :64] / 16, table[:, 64]


class Training:
    def __init__(self, path, seed):
        torch.manual_seed(seed)
        self.seed = seed
        self.inputs, self.targets = load(path)
        self.model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))
        self.parallel = nn.parallel.DistributedDataParallel(self.model)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.001)
        self.step = 0  # steps done
        self.loss = 0.0
        folder = tandem_report.checkpoint_dir()
        self.file = folder and os.path.join(folder, "training.pt")

    def run(self, epochs):
        steps = -(-len(self.inputs) // BATCH)
        for epoch in range(self.step // steps, epochs):
            batches = tandem_report.logical_sampler(len(self.inputs), self.seed, epoch, BATCH)
            # A training that was paused goes on in the middle of an epoch.
            for batch in itertools.islice(batches, self.step % steps, None):
                self.train(batch, epoch)
                if self.all_should_stop():
                    return

    def train(self, batch, epoch):
        self.optimizer.zero_grad()
        loss_sum = nn.functional.cross_entropy(self.parallel(self.inputs[batch]), self.targets[batch], reduction="sum")
        loss, count = self.over_all_ranks(loss_sum, len(batch))
        # DistributedDataParallel divides by the number of ranks; shares may differ by a sample.
        (loss_sum * dist.get_world_size() / count).backward()
        self.optimizer.step()
        self.step += 1
        self.loss = loss / count
        tandem_report.report(self.step, loss_sum, len(batch), epoch, samples=batch)

    @staticmethod
    def over_all_ranks(loss_sum, count):
        numbers = torch.tensor([loss_sum.item(), count], dtype=torch.float64)
        dist.all_reduce(numbers)
        return numbers.tolist()

    @staticmethod
    def all_should_stop():
        """One is enough: Tandem may tell the ranks between different steps."""
        wish = torch.tensor(int(tandem_report.should_stop()))
        dist.all_reduce(wish, op=dist.ReduceOp.MAX)
        return bool(wish)

    def save(self):
        if self.file is None or dist.get_rank() != 0:
            return
        state = {"step": self.step, "model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
        torch.save(state, self.file + ".new")
        os.replace(self.file + ".new", self.file)

    def restore(self):
        if self.file is None or not os.path.exists(self.file):
            return
        state = torch.load(self.file)
        self.step = state["step"]
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", help="the digits, as comma-separated values")
    parser.add_argument("--epochs", type=int, default=10)
    args = parser.parse_args()
    dist.init_process_group("gloo")
    training = Training(args.data, seed=int(os.environ.get("TANDEM_SEED", 42)))
    training.restore()
    training.run(args.epochs)
    training.save()
    if dist.get_rank() == 0:
        print(f"after {training.step} steps: loss {training.loss:.6f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
