# SPDX-License-Identifier: Apache-2.0
"""A small GPT and a text that it can learn, both made in place: nothing is downloaded."""

import os
import sys

import torch
from torch import nn
from torch.nn import functional

VOCABULARY = 64
# Tokens of a text.
LENGTH = 64


class Block(nn.Module):
    """One layer: attention to what came before, then a feed-forward network."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_forward = nn.LayerNorm(width), nn.LayerNorm(width)
        self.to_qkv, self.from_heads = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.forward_net = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        """Mix hidden states [batch, length, width] and return as many."""
        batch, length, width = x.shape
        split = (batch, length, self.heads, width // self.heads)
        q, k, v = (part.view(split).transpose(1, 2) for part in self.to_qkv(self.before_attention(x)).chunk(3, dim=-1))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.from_heads(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.forward_net(self.before_forward(x))


class SmallGPT(nn.Module):
    """A GPT of about 3.2 million parameters by default, as used here."""

    def __init__(self, width=256, layers=4, heads=4, length=LENGTH):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.last, self.head = nn.LayerNorm(width), nn.Linear(width, VOCABULARY)

    def forward(self, text):
        """Take token numbers [batch, length + 1] and return the mean loss of guessing each next one."""
        given, wanted = text[:, :-1], text[:, 1:]
        x = self.tokens(given) + self.positions(torch.arange(given.shape[1], device=given.device))
        for block in self.blocks:
            x = block(x)
        return functional.cross_entropy(self.head(self.last(x)).flatten(0, 1), wanted.flatten())


def batches(size, rank, length=LENGTH):
    """Yield token numbers [size, length + 1] without end: counting up in steps of 1 to 4, from anywhere.

    Each rank has its own numbers, so that the ranks do not all learn the same text.
    """
    dice = torch.Generator().manual_seed(1000 + rank)
    while True:
        start = torch.randint(VOCABULARY, (size, 1), generator=dice)
        step = torch.randint(1, 5, (size, 1), generator=dice)
        yield (start + step * torch.arange(length + 1)) % VOCABULARY


def has_fallen(losses):
    """Say whether the last quarter's mean loss is below the first's by a twentieth: NaN is not."""
    part = max(1, len(losses) // 4)
    first, last = sum(losses[:part]) / part, sum(losses[-part:]) / part
    print(f"mean loss of the first {part} steps {first:.4f}, of the last {part} {last:.4f}", flush=True)
    return last < 0.95 * first


def check_world(size, expected):
    """Stop a run that has not the ranks it should have: a launcher that fails to see a node goes on without it."""
    if expected and size != expected:
        raise SystemExit(
            f"this job has {size} ranks, {expected} were expected; see what the launcher said of the hosts"
        )


def leave(status):
    """End this rank with an exit status, when every rank has got here."""
    torch.distributed.barrier()
    if torch.distributed.get_backend() == "gloo":
        # torch 2.13 was seen to abort a rank now and then while it takes gloo's threads down, after all was done.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    torch.distributed.destroy_process_group()
    sys.exit(status)
