# SPDX-License-Identifier: Apache-2.0
"""Train a small GPT with one of DeepSpeed's configs beside this folder, and fail if it learns nothing.

deepspeed.sh train.py --deepspeed_config /etc/deepspeed/zero3.json --expect-ranks 16

It runs on GPUs over RCCL, which torch calls nccl, and without any on the CPUs over gloo.
"""

import argparse
import json
import os
import socket

import torch
from model import SmallGPT, batches, check_world, has_fallen, leave

ON_CPU = not torch.cuda.is_available()
if ON_CPU:
    os.environ.setdefault("DS_ACCELERATOR", "cpu")

import deepspeed  # noqa: E402  (it looks for its accelerator while it is imported)


def arguments():
    """Return the options; the launchers add --local_rank."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deepspeed_config", required=True, metavar="PATH", help="zero2.json, zero3.json and the like")
    parser.add_argument("--steps", type=int, default=20, help="optimizer steps")
    parser.add_argument("--expect-ranks", type=int, default=0, help="fail unless the job has as many ranks")
    parser.add_argument("--local_rank", type=int, default=int(os.environ.get("LOCAL_RANK", 0)))
    return parser.parse_args()


def start(options):
    """Join the other ranks and return DeepSpeed's engine."""
    if ON_CPU:
        # DeepSpeed would compile reductions through shared memory, for minutes and to no use between nodes.
        deepspeed.ops.__compatible_ops__ = {**deepspeed.ops.__compatible_ops__, "deepspeed_shm_comm": False}
    else:
        torch.cuda.set_device(options.local_rank)
    with open(options.deepspeed_config, encoding="utf-8") as stream:
        config = json.load(stream)
    if "auto" in json.dumps(config):
        raise SystemExit(f"{options.deepspeed_config} holds auto, which only the Hugging Face Trainer fills in")
    deepspeed.init_distributed(dist_backend="gloo" if ON_CPU else "nccl")
    check_world(torch.distributed.get_world_size(), options.expect_ranks)
    torch.manual_seed(0)
    model = SmallGPT()
    optimizer = None if "optimizer" in config else torch.optim.AdamW(model.parameters(), lr=1e-3)
    engine, _, _, _ = deepspeed.initialize(
        model=model, model_parameters=model.parameters(), optimizer=optimizer, config=config
    )
    return engine


def main():
    """Train, print the mean loss of each step, and end with 0 if it fell."""
    options = arguments()
    engine = start(options)
    rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
    stage = engine.zero_optimization_stage()
    print(f"rank {rank} of {size} on {socket.gethostname()}, {engine.device}, ZeRO stage {stage}", flush=True)
    data = batches(engine.train_micro_batch_size_per_gpu(), rank)
    losses = []
    for step in range(options.steps):
        total = torch.zeros((), device=engine.device)
        for _ in range(engine.gradient_accumulation_steps()):
            loss = engine(next(data).to(engine.device))
            engine.backward(loss)
            engine.step()
            total += loss.detach().float() / engine.gradient_accumulation_steps()
        torch.distributed.all_reduce(total)
        losses.append(total.item() / size)
        if rank == 0:
            print(f"step {step + 1} loss {losses[-1]:.4f}", flush=True)
    leave(0 if has_fallen(losses) else 1)


if __name__ == "__main__":
    main()
