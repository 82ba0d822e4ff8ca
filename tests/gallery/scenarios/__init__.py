"""The scenarios, one module each: what it plants, and what must be found."""

from __future__ import annotations

from tests.gallery.scenario import Scenario
from tests.gallery.scenarios import (
    clean_sft,
    clean_stream,
    drifted_mixture,
    fake_long_context,
    leaky_sft,
    loss_mask_faults,
)

__all__ = ["SCENARIOS"]

SCENARIOS: tuple[Scenario, ...] = (
    clean_stream.SCENARIO,
    clean_sft.SCENARIO,
    leaky_sft.SCENARIO,
    loss_mask_faults.SCENARIO,
    drifted_mixture.SCENARIO,
    fake_long_context.SCENARIO,
)
