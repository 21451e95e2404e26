"""A model that Tandem has trained, as Python sees it: read with the safetensors package, run with numpy alone, and
held against the loss and accuracy that the coordinator reports for the same held-out samples."""

import pathlib
import subprocess

import cluster
import numpy
from safetensors.numpy import load_file
from tandem_report import held_out

SEED = 7
HOLDOUT = 0.25
WINDOW = 16
LAYERS = 2
HEADS = 2


def linear(weights, name, values):
    return values @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def log_softmax(scores):
    scores = scores - scores.max(-1, keepdims=True)
    return scores - numpy.log(numpy.exp(scores).sum(-1, keepdims=True))


def layer_norm(weights, name, values):
    centred = values - values.mean(-1, keepdims=True)
    return centred / numpy.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def gelu(values):
    """As GPT-2 approximates it."""
    return 0.5 * values * (1 + numpy.tanh(numpy.sqrt(2 / numpy.pi) * (values + 0.044715 * values**3)))


def mlp(weights, inputs):
    layers = len({name for name in weights if name.endswith(".weight")})
    for i in range(layers - 1):
        inputs = numpy.maximum(linear(weights, f"layers.{i}", inputs), 0)
    return linear(weights, f"layers.{layers - 1}", inputs)


def attention(weights, name, values):
    samples, tokens, width = values.shape
    parts = numpy.split(linear(weights, f"{name}.c_attn", values), 3, axis=-1)
    query, key, value = (part.reshape(samples, tokens, HEADS, -1).transpose(0, 2, 1, 3) for part in parts)
    scores = query @ key.transpose(0, 1, 3, 2) / numpy.sqrt(width // HEADS)
    scores[..., ~numpy.tri(tokens, dtype=bool)] = -numpy.inf
    mixed = (numpy.exp(log_softmax(scores)) @ value).transpose(0, 2, 1, 3).reshape(samples, tokens, width)
    return linear(weights, f"{name}.c_proj", mixed)


def gpt(weights, tokens):
    values = weights["transformer.wte.weight"][tokens] + weights["transformer.wpe.weight"]
    for i in range(LAYERS):
        block = f"transformer.h.{i}"
        values = values + attention(weights, f"{block}.attn", layer_norm(weights, f"{block}.ln_1", values))
        hidden = gelu(linear(weights, f"{block}.mlp.c_fc", layer_norm(weights, f"{block}.ln_2", values)))
        values = values + linear(weights, f"{block}.mlp.c_proj", hidden)
    return layer_norm(weights, "transformer.ln_f", values) @ weights["transformer.wte.weight"].T


def digits():
    table = numpy.loadtxt(f"{cluster.ARGS.source}/examples/data/digits.csv", delimiter=",")
    return table[:, :-1] * 0.0625, table[:, -1].astype(int)


def windows(path):
    """Inputs and targets: rows of tokens, and the token after each."""
    code_points = numpy.array([ord(character) for character in path.read_text(encoding="utf-8")])
    tokens = numpy.searchsorted(numpy.unique(code_points), code_points)
    starts = range(0, len(tokens) - WINDOW, WINDOW)
    return (numpy.stack([tokens[i : i + WINDOW] for i in starts]),
            numpy.stack([tokens[i + 1 : i + 1 + WINDOW] for i in starts]))


class Export(cluster.ClusterTest):
    def spec(self, name):
        spec = self.spec_pb2.JobSpec(name=name, workers=2, seed=SEED, global_batch_size=32, steps=60)
        spec.optimizer.adamw.lr = 0.003
        spec.evaluate.holdout = HOLDOUT
        spec.checkpoint.dir = f"{self.folder}/checkpoints"
        return spec

    def digits_spec(self):
        spec = self.spec("digits")
        spec.data.csv.path = f"{cluster.ARGS.source}/examples/data/digits.csv"
        spec.data.csv.classes = 10
        spec.data.csv.scale = 0.0625
        spec.model.mlp.hidden.extend([32, 16])
        # Must be off while measuring.
        spec.model.mlp.dropout = 0.2
        return spec

    def text_spec(self, path):
        spec = self.spec("text")
        spec.data.text.path = str(path)
        spec.data.text.window = WINDOW
        spec.model.gpt.layers = LAYERS
        spec.model.gpt.heads = HEADS
        spec.model.gpt.width = 32
        spec.model.gpt.dropout = 0.1
        return spec

    def tandem(self, *args):
        return subprocess.run([f"{cluster.ARGS.binaries}/tandem", "--coordinator", self.address, *args],
                              capture_output=True, text=True, timeout=30, check=False)

    def train_and_export(self, spec):
        """The job as it ended, and its weights in float64."""
        job = self.await_success(self.submit(spec))
        target = f"{self.folder}/{job.id}.safetensors"
        exported = self.tandem("export", job.id, "--to", target)
        self.assertEqual(exported.returncode, 0, exported.stderr)
        return job, {name: tensor.astype(numpy.float64) for name, tensor in load_file(target).items()}

    def expect_evaluation(self, job, scores, targets):
        likelihoods = log_softmax(scores)
        chosen = numpy.take_along_axis(likelihoods, targets[..., None], -1)
        self.assertEqual(job.evaluation.samples, targets.size)
        numpy.testing.assert_allclose(-chosen.mean(), job.evaluation.loss, rtol=1e-5)
        # A tie in float32 may fall either way.
        self.assertAlmostEqual((scores.argmax(-1) == targets).mean(), job.evaluation.accuracy, delta=1.5 / targets.size)

    def test_mlp_on_digits(self):
        job, weights = self.train_and_export(self.digits_spec())
        self.assertEqual(set(weights), {f"layers.{i}.{kind}" for i in range(3) for kind in ("weight", "bias")})
        inputs, targets = digits()
        chosen = held_out(len(inputs), HOLDOUT, SEED)
        self.expect_evaluation(job, mlp(weights, inputs[chosen]), targets[chosen])
        # Control: measured on other samples, the same weights have another loss.
        others = held_out(len(inputs), HOLDOUT, SEED + 1)
        with self.assertRaises(AssertionError):
            self.expect_evaluation(job, mlp(weights, inputs[others]), targets[others])

    def test_gpt_on_text(self):
        path = pathlib.Path(cluster.ARGS.source) / "LICENSE"
        job, weights = self.train_and_export(self.text_spec(path))
        inputs, targets = windows(path)
        chosen = held_out(len(inputs), HOLDOUT, SEED)
        self.expect_evaluation(job, gpt(weights, inputs[chosen]), targets[chosen])

    def test_resumed_on_another_world_size(self):
        spec = self.digits_spec()
        whole = self.await_success(self.submit(spec))
        spec.steps = 25
        half = self.await_success(self.submit(spec))
        self.assertEqual(half.checkpoint.step, 25)
        spec.steps, spec.workers, spec.logical_ranks = 60, 1, 2
        spec.resume_from = half.checkpoint.path
        resumed = self.await_success(self.submit(spec))
        self.assertEqual(resumed.parameter_digest, whole.parameter_digest)
        self.assertEqual(resumed.receipt, whole.receipt)


if __name__ == "__main__":
    cluster.main()
