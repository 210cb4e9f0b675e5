"""The models of `benchmarks.model_zoo`: how each is made, with what it is called, all as small as it can be.

    model, batches = MAKERS["Transformers"]("Bert")

Nothing is downloaded; weights are random.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import ModuleType
from typing import Any

import torch
from torch import nn

Made = tuple[nn.Module, list[Any]]

SIDE = 32
"""Pixels of an image's side, where the architecture takes so few."""
SIDES = {"alexnet": 63, "inception_v3": 75, "maxvit_t": 224, "vit_h_14": 28, "vit_b_32": 64, "vit_l_32": 64}
"""The smallest images of architectures that do not take `SIDE`."""
SMALL = {
    "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128,
    "vocab_size": 512, "pad_token_id": 0,
}  # fmt: skip
"""Sizes by the names that most configurations have."""
T5 = {"d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4, "vocab_size": 512}
BART = {
    "d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "vocab_size": 512,
}  # fmt: skip
KEYS = {"num_key_value_heads": 2, "head_dim": 16}
IMAGE = {"image_size": SIDE, "patch_size": 8}
TRANSFORMERS: dict[str, tuple[str, dict[str, Any]]] = {
    "Albert": ("ids", {**SMALL, "embedding_size": 32}),
    "Bart": ("both", BART),
    "Bert": ("ids", SMALL),
    "Bloom": ("ids", {"hidden_size": 64, "n_layer": 2, "n_head": 4, "vocab_size": 512}),
    "CLIPVision": ("image", {**SMALL, **IMAGE}),
    "ConvNext": ("image", {"hidden_sizes": [16, 32, 64, 64], "depths": [1, 1, 1, 1]}),
    "DebertaV2": ("ids", SMALL),
    "DistilBert": ("ids", {"dim": 64, "n_layers": 2, "n_heads": 4, "hidden_dim": 128, "vocab_size": 512}),
    "Electra": ("ids", {**SMALL, "embedding_size": 32}),
    "Falcon": ("ids", SMALL),
    "GPT2": ("ids", {"n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 512}),
    "GPTNeoX": ("ids", SMALL),
    "Gemma2": ("ids", {**SMALL, **KEYS}),
    "Llama": ("ids", SMALL),
    "MPNet": ("ids", SMALL),
    "Mamba": ("ids", SMALL),
    "Mistral": ("ids", {**SMALL, **KEYS}),
    "Mixtral": ("ids", {**SMALL, **KEYS, "num_local_experts": 4}),
    "ModernBert": ("ids", SMALL),
    "OPT": ("ids", {**SMALL, "ffn_dim": 128, "word_embed_proj_dim": 64}),
    "Olmo2": ("ids", SMALL),
    "Phi": ("ids", SMALL),
    "Phi3": ("ids", SMALL),
    "Qwen2": ("ids", {**SMALL, "num_key_value_heads": 2}),
    "Qwen3": ("ids", {**SMALL, **KEYS}),
    "Roberta": ("ids", SMALL),
    "Swin": (
        "image",
        {"image_size": SIDE, "window_size": 4, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 2]},
    ),
    "T5": ("both", T5),
    "ViT": ("image", {**SMALL, **IMAGE}),
    "Whisper": ("sound", {**BART, "max_source_positions": 50, "pad_token_id": 0}),
}
"""Kind of input and configuration, by the prefix of the classes `...Config` and `...Model`."""


KEPT: list[torch.library.Library] = []
"""Names of operators live as long as this."""


def torchvision_model(name: str) -> Made:
    """A classifier of torchvision and two images."""
    side = SIDES.get(name, SIDE)
    given = {"image_size": side} if name.startswith("vit_") else {}
    return torchvision_models().get_model(name, weights=None, **given), [torch.randn(2, 3, side, side)]


def transformers_model(name: str) -> Made:
    """A model of Transformers in a tiny configuration, and one batch by name."""
    torchvision_models()  # Transformers imports torchvision where it finds it
    import transformers

    kind, sizes = TRANSFORMERS[name]
    config = getattr(transformers, f"{name}Config")(**sizes)
    return getattr(transformers, f"{name}Model")(config), [INPUTS[kind]()]


def names_of(family: str) -> list[str]:
    """All models of a family, those with the fewest parameters first where that is known."""
    if family == "Transformers":
        return sorted(TRANSFORMERS)
    models = torchvision_models()

    def size(name: str) -> int:
        return int(models.get_model_weights(name).DEFAULT.meta["num_params"])

    return sorted(models.list_models(module=models), key=size)


@lru_cache
def torchvision_models() -> ModuleType:
    """`torchvision.models`, also where torchvision was built for another torch (with CUDA, without).

    It then cannot load its own operators, and misses the names of two when it is imported. No classifier
    calls them.
    """
    missing = torch.library.Library("torchvision", "FRAGMENT")
    try:
        import torchvision
    except RuntimeError:
        for name in ("nms", "qnms"):
            missing.define(f"{name}(Tensor boxes, Tensor scores, float threshold) -> Tensor")
        import torchvision
    KEPT.append(missing)
    found: ModuleType = torchvision.models
    return found


def _ids() -> torch.Tensor:
    return torch.randint(5, 500, (2, 16))


INPUTS: dict[str, Callable[[], dict[str, torch.Tensor]]] = {
    "ids": lambda: {"input_ids": _ids()},
    "both": lambda: {"input_ids": _ids(), "decoder_input_ids": _ids()},
    "image": lambda: {"pixel_values": torch.randn(2, 3, SIDE, SIDE)},
    "sound": lambda: {"input_features": torch.randn(2, 80, 100), "decoder_input_ids": _ids()},
}
MAKERS: dict[str, Callable[[str], Made]] = {
    "Transformers": transformers_model,
    "torchvision": torchvision_model,
}
