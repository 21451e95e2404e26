"""The GPT of jobs.Timed as one writes it in Python: plain fp32, no determinism, whole batches. Prints, as JSON,
how many steps a second it does after its first ten, and the memory that it has taken of its device.

    python3 peer.py TEXT DEVICE LAYERS HEADS WIDTH WINDOW BATCH STEPS
"""

import json
import sys
import time

import torch
from torch import nn
from torch.nn import functional

WARM_STEPS = 10  # as in checks.py


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, values):
        shape = values.shape[:2] + (self.heads, -1)
        query, key, value = (part.view(shape).transpose(1, 2) for part in self.attention(self.ln_1(values)).chunk(3, -1))
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        values = values + self.projection(mixed.transpose(1, 2).flatten(2))
        return values + self.narrow(functional.gelu(self.widen(self.ln_2(values)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, vocabulary, layers, heads, width, window):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(window, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.ln = nn.LayerNorm(width)

    def forward(self, tokens):
        values = self.blocks(self.tokens(tokens) + self.places.weight)
        return functional.linear(self.ln(values), self.tokens.weight)


def main():
    path, device, *numbers = sys.argv[1:]
    layers, heads, width, window, batch, steps = map(int, numbers)
    if device == "cpu":
        torch.set_num_threads(1)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    letters = {letter: i for i, letter in enumerate(sorted(set(text)))}
    ids = torch.tensor([letters[letter] for letter in text])
    model = Gpt(len(letters), layers, heads, width, window).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(steps):
        if step == WARM_STEPS:
            wait(device)
            begin = time.perf_counter()
        starts = torch.randint(len(ids) - window - 1, (batch,))
        windows = torch.stack([ids[start:start + window + 1] for start in starts]).to(device)
        scores = model(windows[:, :-1])
        loss = functional.cross_entropy(scores.flatten(0, 1), windows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    wait(device)
    seconds = time.perf_counter() - begin
    bytes_taken = torch.cuda.max_memory_reserved() if device != "cpu" else None
    print(json.dumps({"steps_a_second": (steps - WARM_STEPS) / seconds, "bytes": bytes_taken}))


def wait(device):
    if device != "cpu":
        torch.cuda.synchronize()


main()
