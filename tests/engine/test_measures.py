"""Figures that rules give of the whole data set: told also where nothing is wrong, and never twice."""

from __future__ import annotations

from typing import Any

import pytest

from packlint import check

PACKS: dict[str, Any] = {"input_ids": [list(range(10, 110)) * 3] * 2, "seq_lens": [[200, 100]] * 2}


def measures(packs: dict[str, Any], **settings: Any) -> Any:
    return check(packs, trainer="torchtune", **settings).measures


def test_context_of_every_power_of_two_until_no_token_has_it() -> None:
    lengths = [200, 100] * 2
    found = {
        name: value for name, value in measures(PACKS).items() if name.startswith("tokens_with_context_")
    }

    assert found == pytest.approx(
        {
            f"tokens_with_context_{least}_fraction": sum(max(0, n - least + 1) for n in lengths)
            / sum(lengths)
            for least in (64, 128, 256)
        }
    )


def test_gap_to_the_bound() -> None:
    spec = {"max_seq_len": 300}

    assert measures(PACKS, spec=spec)["gap_fraction"] == 0
    assert measures({"input_ids": [[1] * 100] * 6, "seq_lens": [[100]] * 6}, spec=spec)["gap_fraction"] == 2


def test_block_density() -> None:
    # Eight blocks a row, a sample each: of 64 blocks 8 are computed, each nearly twice its causal pairs.
    packs = {"input_ids": [list(range(1024))], "seq_lens": [[128] * 8]}
    found = measures(packs)

    assert found["block_density"] == 8 / 64
    assert found["work_factor"] == pytest.approx(128 * 128 / (128 * 129 / 2))


def test_what_cannot_be_measured_is_absent() -> None:
    assert measures({"input_ids": [[1, 2, 3]]}).keys() >= {"n_tokens"}
    assert "gap_fraction" not in measures({"input_ids": [[1, 2, 3]]})
    assert "block_density" not in measures(PACKS)
