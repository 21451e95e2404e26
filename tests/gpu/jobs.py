"""The jobs that are run on a device: small ones of each kind of model, and a larger one to be timed."""

from dataclasses import dataclass

HEAD = """
name: {name}
logical_ranks: {logical_ranks}
global_batch_size: {batch}
steps: {steps}
seed: 42
device: {device}
"""


@dataclass
class Job:
    """A specification without its first keys. `small` replaces steps where there is no GPU."""

    name: str
    body: str
    batch: int
    steps: int
    small: int

    def spec(self, device, logical_ranks, more=""):
        steps = self.small if device == "cpu" else self.steps
        head = HEAD.format(name=self.name, logical_ranks=logical_ranks, batch=self.batch, steps=steps, device=device)
        return head + self.body + more


def jobs(source):
    """By name. `source` is the project's folder."""
    data = f"{source}/examples/data"
    digits = f"data: {{csv: {{path: {data}/digits.csv, classes: 10, scale: 0.0625}}}}\n"
    squares = "data: {synthetic: {samples: 2000, squares: {side: 16, classes: 4, noise: 0.3}}}\n"
    text = f"data: {{text: {{path: {data}/tinyshakespeare.txt, window: %d}}}}\n"
    adamw = "optimizer: {adamw: {lr: 0.001, weight_decay: 0.01}}\n"
    return {job.name: job for job in [
        Job("digits", digits + "model: {mlp: {hidden: [128, 64], dropout: 0.2}}\n" + adamw, 64, 200, 40),
        Job("gpt", text % 64 + "model: {gpt: {layers: 2, heads: 4, width: 64, dropout: 0.1}}\n" + adamw +
            "clip_norm: 1\n", 16, 60, 12),  # fp16 skips the first steps, until its scale fits
        Job("convnet", squares + "model: {convnet: {channels: [8, 16], dropout: 0.1}}\n"
            "optimizer: {sgd: {lr: 0.05, momentum: 0.9}}\n", 32, 60, 12),
        Job("convnet-synchronized", squares + "model: {convnet: {channels: [8, 16], dropout: 0.1}}\n"
            "batch_norm: synchronized\noptimizer: {sgd: {lr: 0.05, momentum: 0.9}}\n", 32, 40, 6),
    ]}


@dataclass
class Timed:
    """A GPT without dropout, to be timed beside the same one in Python; peer.py builds it from these numbers."""

    layers: int
    heads: int
    width: int
    window: int
    batch: int
    steps: int

    def job(self, source, steps=None):
        steps = steps or self.steps
        text = f"data: {{text: {{path: {source}/examples/data/tinyshakespeare.txt, window: {self.window}}}}}\n"
        model = f"model: {{gpt: {{layers: {self.layers}, heads: {self.heads}, width: {self.width}}}}}\n"
        return Job("timed-gpt", text + model + "optimizer: {adamw: {lr: 0.001}}\n", self.batch, steps, steps)


def timed(device):
    if device == "cpu":
        return Timed(layers=2, heads=4, width=64, window=64, batch=16, steps=20)
    return Timed(layers=6, heads=6, width=384, window=256, batch=64, steps=100)
