"""Training that feels the int8 form: weights and activations rounded as the packaged model rounds.

The packaged form (``package_model.py``, form ``dynamic``) has 7-bit weights with one scale for each
output channel and 8-bit activations with one scale for each run, which is one pair. Training with
the same rounding, gradients passed straight through it (Jacob et al., 2018, arXiv:1712.05877),
lets the weights move to where it costs least.
"""

from __future__ import annotations

import torch
from torch.nn import functional
from transformers import PreTrainedModel

WEIGHT_STEPS = 63
ACTIVATION_STEPS = 255
CALM_SHARE = 0.99
"""As in ``package_model.py``: the share of input channels that set a layer's range."""


def rounded(values: torch.Tensor, steps: torch.Tensor) -> torch.Tensor:
    """Round to multiples of ``steps``; the gradient passes as if nothing were rounded."""
    return values + (torch.round(values / steps) * steps - values).detach()


class RoundedLinear(torch.nn.Module):
    """A linear layer that computes as its int8 form would; the parameters are the layer's own.

    Args:
        layer: The layer.
        calmed: Scale its high input channels down, as the packaged feed-forward layers are.
    """

    def __init__(self, layer: torch.nn.Linear, *, calmed: bool) -> None:
        super().__init__()
        self.weight, self.bias = layer.weight, layer.bias
        self.calmed = calmed
        self.calm: torch.Tensor | None = None

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Apply the layer to [rows, tokens, channels]."""
        inputs, weight = inputs.float(), self.weight
        if self.calmed:
            if self.calm is None:  # the channels that run high are the same for any text
                peak = inputs.detach().abs().amax(dim=(0, 1))
                self.calm = (peak / torch.quantile(peak, CALM_SHARE)).clamp(min=1.0)
            inputs, weight = inputs / self.calm, weight * self.calm
        with torch.no_grad():
            low = inputs.amin(dim=(1, 2), keepdim=True).clamp(max=0.0)
            high = inputs.amax(dim=(1, 2), keepdim=True).clamp(min=0.0)
            step = (high - low).clamp(min=1e-8) / ACTIVATION_STEPS
            weight_step = weight.abs().amax(dim=1, keepdim=True).clamp(min=1e-8) / WEIGHT_STEPS
        return functional.linear(rounded(inputs, step), rounded(weight, weight_step), self.bias)


def quantise(model: PreTrainedModel) -> None:
    """Make every linear layer of the encoder round; the head stays as it is."""
    for layer in model.base_model.encoder.layer:
        attention = layer.attention.self
        for name in ("query", "key", "value"):
            setattr(attention, name, RoundedLinear(getattr(attention, name), calmed=False))
        layer.attention.output.dense = RoundedLinear(layer.attention.output.dense, calmed=False)
        layer.intermediate.dense = RoundedLinear(layer.intermediate.dense, calmed=True)
        layer.output.dense = RoundedLinear(layer.output.dense, calmed=True)
