# SPDX-License-Identifier: MIT
"""Lightning: Trainer(callbacks=[rankwatch.lightning.Steps()]). Steps have the numbers of trainer.global_step."""
from __future__ import annotations

from typing import Any

try:
    from lightning.pytorch import Callback
except ImportError:
    from pytorch_lightning import Callback

from rankwatch._step import step


class Steps(Callback):  # type: ignore[misc]
    """Says before each batch which step begins; batches that gradients are accumulated over are one step."""

    def on_train_batch_start(self, trainer: Any, *_: Any, **__: Any) -> None:
        step(trainer.global_step)
