# SPDX-License-Identifier: Apache-2.0
"""Train a model of some thousand weights with each config of standard input, on the processor, and print its losses.

It is run by test_deepspeed_packages.py, in an environment with the real DeepSpeed. One rank: what several ranks do is
for the lab to show.
"""

import json
import os
import socket
import sys

import deepspeed
import torch

STEPS = 40


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def train(config):
    """Return the loss of each forward pass: the sum of a row is to be learnt."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(32, 128), torch.nn.ReLU(), torch.nn.Linear(128, 1))
    own = None if "optimizer" in config else torch.optim.AdamW(model.parameters(), lr=1e-2)
    engine = deepspeed.initialize(model=model, model_parameters=model.parameters(), optimizer=own, config=config)[0]
    rows = torch.randn(64, 32).bfloat16()
    wanted = rows.sum(1, keepdim=True)
    losses = []
    for _step in range(STEPS * config["gradient_accumulation_steps"]):
        loss = ((engine(rows) - wanted) ** 2).mean()
        engine.backward(loss)
        engine.step()
        losses.append(loss.item())
    return losses


def main():
    os.environ.update(RANK="0", WORLD_SIZE="1", LOCAL_RANK="0", MASTER_ADDR="127.0.0.1", MASTER_PORT=free_port())
    print(json.dumps({name: train(config) for name, config in json.load(sys.stdin).items()}))


main()
