"""Whole models in place: small twins of models that people run, with random weights, before and after.

    python -m benchmarks.models [--only llama vit] [--budget 120] [--against eager]

Needs transformers and torchvision (`pip install 'kernelwright[models]'`); nothing is downloaded, weights are
random. Each model is optimized by `kw.optimize_model` and the report of the whole appended to
results/cpu/models.jsonl. Resumes by model, budget and versions.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from benchmarks.ledger import Ledger, key_of, out_dir
from kernelwright.core.target import Target
from kernelwright.measure.environment import environment

Twin = tuple[nn.Module, list[Any]]


def main() -> None:
    """Optimize each twin and print what the whole gained."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="*", choices=sorted(TWINS), default=sorted(TWINS))
    parser.add_argument("--budget", type=float, default=120.0, help="seconds of search per model")
    parser.add_argument("--against", choices=("strongest", "eager"), default="strongest")
    options = parser.parse_args()
    ledger = Ledger(out_dir("cpu") / "models.jsonl")
    for name in options.only:
        key = key_of("models", name, options.budget, options.against, torch.__version__)
        if not ledger.holds(key):
            record(ledger, key, name, options.budget, options.against)
    for row in ledger.records():
        print(f"{row['name']:12} {row['report']['conclusion']}")


def record(ledger: Ledger, key: str, name: str, budget_s: float, against: Any) -> None:
    """Optimize one twin in place and append what was found."""
    import kernelwright as kw

    torch.manual_seed(0)
    model, batches = TWINS[name]()
    begun = time.monotonic()
    kw.optimize_model(model.eval(), batches, budget_s=budget_s, against=against, on_progress=_said)
    installed: Any = model.kernelwright
    print(installed.status(), flush=True)
    ledger.append(
        key,
        name=name,
        against=against,
        parameters=sum(each.numel() for each in model.parameters()),
        report=installed.report,
        sites={site.name: site.speedup for site in installed.sites()},
        left=installed.left,
        seconds=round(time.monotonic() - begun, 1),
        environment=environment(Target.parse("cpu")),
    )


def _said(event: dict[str, Any]) -> None:
    if event["stage"] in ("survey", "site", "proof"):
        print(f"  {event['message']}", flush=True)


def llama() -> Twin:
    """A decoder with root-mean-square norms, rotary positions and gated products; a prompt of 256."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=512, intermediate_size=1376, num_hidden_layers=4, num_attention_heads=8, vocab_size=4096
    )
    return LlamaForCausalLM(config), [{"input_ids": torch.randint(4096, (1, 256)), "use_cache": False}]


def bert() -> Twin:
    """An encoder with layer norms and GELU; eight sentences of 128."""
    from transformers import BertConfig, BertModel

    config = BertConfig(hidden_size=256, intermediate_size=1024, num_hidden_layers=4, num_attention_heads=4)
    return BertModel(config), [{"input_ids": torch.randint(30000, (8, 128))}]


def mamba() -> Twin:
    """A state-space decoder; a prompt of 128."""
    from transformers import MambaConfig, MambaForCausalLM

    config = MambaConfig(hidden_size=256, num_hidden_layers=4, vocab_size=4096)
    return MambaForCausalLM(config), [{"input_ids": torch.randint(4096, (1, 128)), "use_cache": False}]


def resnet() -> Twin:
    """A residual network; eight images."""
    from torchvision.models import resnet18

    return resnet18(), [torch.randn(8, 3, 128, 128)]


def vit() -> Twin:
    """A vision transformer; eight images."""
    from torchvision.models import VisionTransformer

    model = VisionTransformer(
        image_size=128, patch_size=16, num_layers=4, num_heads=4, hidden_dim=256, mlp_dim=1024
    )
    return model, [torch.randn(8, 3, 128, 128)]


def lstm() -> Twin:
    """A recurrent tagger with a norm and a soft maximum; eight sequences of 200."""

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.cell = nn.Embedding(4096, 256), nn.LSTM(256, 256, 2, batch_first=True)
            self.norm, self.out = nn.LayerNorm(256), nn.Linear(256, 512)

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return torch.log_softmax(self.out(self.norm(self.cell(self.embed(ids))[0])), -1)

    return Tagger(), [torch.randint(4096, (8, 200))]


TWINS: dict[str, Callable[[], Twin]] = {
    "bert": bert, "llama": llama, "lstm": lstm, "mamba": mamba, "resnet": resnet, "vit": vit,
}  # fmt: skip


if __name__ == "__main__":
    main()
