# SPDX-License-Identifier: Apache-2.0
"""Train the same GPT with torch's FSDP as fsdp.json says: torchrun.sh train_fsdp.py --config /etc/deepspeed/fsdp.json"""

import argparse
import functools
import json
import os
import sys

import torch
from model import Block, SmallGPT, batches, check_world, has_fallen
from torch.distributed import fsdp
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy


def wrap(model, config, device):
    """Return the model wrapped as the config says: parameters split within a node, gradients summed between nodes."""
    words = {key: config[key] for key in ("limit_all_gathers", "sync_module_states", "forward_prefetch")}
    words["sharding_strategy"] = fsdp.ShardingStrategy[config["sharding_strategy"]]
    if "HYBRID" in config["sharding_strategy"]:
        # Ranks of one node hold one copy between them; the ranks of the same number on all nodes sum its gradients.
        here, ranks = int(os.environ["LOCAL_WORLD_SIZE"]), torch.distributed.get_world_size()
        if here == 1:
            # FSDP would only warn, split nothing and leave the nodes with different models.
            raise SystemExit("one rank a node leaves nothing to split within it: set sharding_strategy to FULL_SHARD")
        within, _ = torch.distributed.new_subgroups(here)
        rows = [list(range(first, ranks, here)) for first in range(here)]
        between, _ = torch.distributed.new_subgroups_by_enumeration(rows)
        words["process_group"] = (within, between)
    if device.type == "cpu":
        # FSDP can do this on GPUs only; here the ranks begin alike because they have one seed.
        words["sync_module_states"] = False
    layers = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={Block})
    return fsdp.FullyShardedDataParallel(model, auto_wrap_policy=layers, device_id=device, **words)


def main():
    """Train, print the mean loss of each step, and return 0 if it fell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", required=True, metavar="PATH", help="fsdp.json")
    parser.add_argument("--steps", type=int, default=20, help="optimizer steps")
    parser.add_argument("--batch", type=int, default=8, help="texts a rank and step")
    parser.add_argument("--expect-ranks", type=int, default=0, help="fail unless the job has as many ranks")
    options = parser.parse_args()
    with open(options.config, encoding="utf-8") as stream:
        config = json.load(stream)
    on_gpu = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if on_gpu else torch.device("cpu")
    if on_gpu:
        torch.cuda.set_device(device)
    torch.distributed.init_process_group("nccl" if on_gpu else "gloo")
    rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
    check_world(size, options.expect_ranks)
    torch.manual_seed(0)
    model = wrap(SmallGPT(), config, device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    print(f"rank {rank} of {size} on {os.uname().nodename}, {device}, {model.sharding_strategy}", flush=True)
    data, losses = batches(options.batch, rank), []
    for step in range(options.steps):
        loss = model(next(data).to(device))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total = loss.detach().clone()
        torch.distributed.all_reduce(total)
        losses.append(total.item() / size)
        if rank == 0:
            print(f"step {step + 1} loss {losses[-1]:.4f}", flush=True)
    fallen = has_fallen(losses)
    torch.distributed.destroy_process_group()
    return 0 if fallen else 1


if __name__ == "__main__":
    sys.exit(main())
