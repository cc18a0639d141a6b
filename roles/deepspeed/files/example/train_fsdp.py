# SPDX-License-Identifier: Apache-2.0
"""Train the same GPT with torch's FSDP as fsdp.json says: torchrun.sh train_fsdp.py --config /etc/deepspeed/fsdp.json"""

import argparse
import functools
import json
import os

import torch
from model import Block, SmallGPT, batches, check_world, has_fallen, leave
from torch.distributed import fsdp
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


def wrap(model, config, device):
    """Return the model wrapped as the config says: parameters split within a node, gradients summed between nodes."""
    words = dict(config)
    words["sharding_strategy"] = fsdp.ShardingStrategy[config["sharding_strategy"]]
    words["backward_prefetch"] = fsdp.BackwardPrefetch[config["backward_prefetch"]]
    kind = DTYPES[config["mixed_precision"]]
    words["mixed_precision"] = fsdp.MixedPrecision(param_dtype=kind, reduce_dtype=kind, buffer_dtype=kind)
    size = words.pop("group_size", 0)
    if "HYBRID" in config["sharding_strategy"]:
        words["process_group"] = node_groups(size, device)
    if device.type == "cpu":
        # FSDP can do this on GPUs only; here the ranks begin alike because they have one seed.
        words["sync_module_states"] = False
    layers = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={Block})
    return fsdp.FullyShardedDataParallel(model, auto_wrap_policy=layers, device_id=device, **words)


def node_groups(size, device):
    """Return the two groups of a rank: those that hold one copy of the model together, and its like in other copies."""
    here, ranks = int(os.environ["LOCAL_WORLD_SIZE"]), torch.distributed.get_world_size()
    # A job may use fewer GPUs of a node than there are, and nodes may differ: all take what every node can.
    common = torch.tensor(size if size and here % size == 0 else here, device=device)
    torch.distributed.all_reduce(common, op=torch.distributed.ReduceOp.MIN)
    size = int(common)
    if size == 1 or ranks % size:
        # FSDP would only warn, split nothing and leave the nodes with different models.
        raise SystemExit(f"{here} ranks here of {ranks} make no groups for HYBRID_SHARD: set FULL_SHARD")
    within, _ = torch.distributed.new_subgroups(size)
    rows = [list(range(first, ranks, size)) for first in range(size)]
    between, _ = torch.distributed.new_subgroups_by_enumeration(rows)
    return within, between


def main():
    """Train, print the mean loss of each step, and end with 0 if it fell."""
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
    leave(0 if has_fallen(losses) else 1)


if __name__ == "__main__":
    main()
