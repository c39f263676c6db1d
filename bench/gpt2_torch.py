"""A GPT-2 in PyTorch, for comparisons.

    bench/gpt2_torch.py LAYERS HIDDEN [BATCH] [SEQUENCE]

trains one for two steps (AdamW, f32, random tokens) and prints the bytes that the process had before, and at most.
"""

import resource
import sys

import onnx
import torch
from torch import nn
from torch.nn import functional

VOCABULARY, CONTEXT = 50257, 1024


class Block(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.attn, self.mlp = nn.Module(), nn.Module()
        self.attn.c_attn, self.attn.c_proj = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.mlp.c_fc, self.mlp.c_proj = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)

    def forward(self, x):
        batch, sequence, hidden = x.shape
        parts = self.attn.c_attn(self.ln_1(x)).view(batch, sequence, 3, hidden // 64, 64).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.attn.c_proj(seen.transpose(1, 2).reshape(batch, sequence, hidden))
        return x + self.mlp.c_proj(functional.gelu(self.mlp.c_fc(self.ln_2(x))))


class Gpt2(nn.Module):
    def __init__(self, layers, hidden):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCABULARY, hidden), nn.Embedding(CONTEXT, hidden)
        self.h = nn.ModuleList(Block(hidden) for _ in range(layers))
        self.ln_f = nn.LayerNorm(hidden)

    def forward(self, ids, labels):
        x = self.wte(ids) + self.wpe.weight[: ids.shape[1]]
        for block in self.h:
            x = block(x)
        logits = functional.linear(self.ln_f(x), self.wte.weight)
        return functional.cross_entropy(logits.view(-1, VOCABULARY), labels.view(-1))

    def load(self, path):
        """The weights of an ONNX model, in which those of linear layers are transposed."""
        values = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in onnx.load(path).graph.initializer}
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                value = torch.from_numpy(values[name].copy())
                parameter.copy_(value.t() if ".c_" in name and value.dim() == 2 else value)


def adamw(model, rate, decay):
    """Matrices decay, vectors do not."""
    parameters = list(model.parameters())
    groups = [{"params": [p for p in parameters if p.dim() >= 2], "weight_decay": decay},
              {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=rate, fused=True)


def step(model, optimizer, ids, labels):
    """Trains one step; its loss."""
    optimizer.zero_grad(set_to_none=True)
    loss = model(ids, labels)
    loss.backward()
    optimizer.step()
    return loss.item()


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main():
    layers, hidden, batch, sequence = (int(text) for text in (sys.argv[1:] + ["1", "128"])[:4])
    before = peak()
    model = Gpt2(layers, hidden)
    optimizer = adamw(model, 1e-4, 0.01)
    tokens = torch.randint(VOCABULARY, (batch, sequence + 1))
    for _ in range(2):
        step(model, optimizer, tokens[:, :-1], tokens[:, 1:])
    print(before, peak())


if __name__ == "__main__":
    main()
