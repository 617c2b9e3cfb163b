# SPDX-License-Identifier: MIT
"""Hugging Face's Trainer: Trainer(callbacks=[rankwatch.transformers.Steps()]). Steps have the numbers of
state.global_step."""
from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from rankwatch._step import step


class Steps(TrainerCallback):  # type: ignore[misc]
    """Says at the begin of each optimiser step which one it is."""

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        step(state.global_step)
