"""Every rule of this package by code; a test holds codes, files, classes and names together."""

from __future__ import annotations

from pathlib import Path

from packlint.registry import RulePackage

__all__ = ["PACKAGE"]

FAMILIES = {
    "ISO": ("isolation", "who can see whom"),
    "BND": ("boundaries", "is the record of boundaries right"),
    "TGT": ("targets", "which tokens the loss asks for"),
    "SPC": ("specials", "begin, end and padding tokens"),
    "TOK": ("tokens", "token ids"),
    "SMP": ("samples", "is every sample there, once, whole"),
    "FIL": ("filling", "is the room used"),
    "CTX": ("context", "does long data teach long range"),
    "DRF": ("drift", "is it still the same data"),
    "ORD": ("order", "are batches mixed"),
    "MAN": ("manifest", "declared and true"),
    "EXP": ("expectations", "does it keep to a suite"),
    "SHD": ("shards", "can it be read at all"),
}

RULES = (
    "iso001_cross_sample_attention",
    "iso002_attention_to_padding",
    "iso003_fragmented_sample",
    "iso004_non_causal_attention",
    "iso005_blind_token",
    "iso006_overriding_attention_mask",
    "bnd001_conflicting_boundaries",
    "bnd002_malformed_offsets",
    "bnd003_running_positions",
    "bnd004_broken_positions",
    "bnd005_padding_as_segment",
    "bnd006_inferred_boundaries",
    "bnd007_end_token_inside_segment",
    "bnd008_merged_segments",
    "bnd009_overlong_segment",
    "bnd010_interior_padding",
    "tgt001_loss_on_padding",
    "tgt002_loss_on_prompt",
    "tgt003_loss_on_system",
    "tgt004_loss_on_user",
    "tgt005_loss_on_tool",
    "tgt006_loss_on_template",
    "tgt007_target_crosses_boundary",
    "tgt008_untrained_sample",
    "tgt009_untrained_end_of_turn",
    "tgt010_shifted_labels",
    "tgt011_foreign_label",
    "tgt012_clipped_answer",
    "tgt013_untrained_answer",
    "tgt014_odd_loss_weight",
    "tgt015_repeated_loss_mask",
    "tgt016_place_dependent_mask",
    "tgt017_empty_batch_loss",
    "spc001_missing_end_token",
    "spc002_missing_begin_token",
    "spc003_doubled_begin_token",
    "spc004_doubled_end_token",
    "spc005_missing_boundary",
    "spc006_pad_is_end_token",
    "spc007_broken_turns",
    "spc008_special_token_as_text",
    "spc009_invented_end_token",
    "spc010_foreign_rendering",
    "tok001_id_outside_vocabulary",
    "tok002_wrapped_ids",
    "tok003_foreign_tokenizer",
    "tok004_runaway_repetition",
    "smp001_lost_sample",
    "smp002_repeated_sample",
    "smp003_truncated_sample",
    "smp004_split_sample",
    "smp005_altered_sample",
    "smp006_unrecoverable_sample",
    "smp007_repeated_pack",
    "smp008_unbalanced_tokens",
    "smp009_broken_pair",
    "fil001_padding_waste",
    "fil002_loose_packing",
    "fil003_empty_pack",
    "fil004_odd_pack_length",
    "fil005_fragmented_mask",
    "fil006_unbalanced_attention_work",
    "fil007_unpacked_rows",
    "ctx001_stitched_long_context",
    "ctx002_short_samples_only",
    "drf001_category_drift",
    "drf002_length_drift",
    "drf003_token_drift",
    "drf004_vanished_category",
    "drf005_loss_weight_drift",
    "drf006_position_drift",
    "ord001_homogeneous_batches",
    "ord002_length_sorted_order",
    "ord003_shard_skew",
    "ord004_related_neighbours",
    "man001_missing_manifest",
    "man002_undeclared_field",
    "man003_false_declaration",
    "exp001_failed_expectation",
    "shd001_unreadable_shard",
    "shd002_ragged_columns",
    "shd003_empty_shard",
    "shd004_repeated_shard",
    "shd005_missing_values",
    "shd006_incomplete_set",
)


def _module(stem: str) -> tuple[str, str]:
    code = stem[:6].upper()
    folder = FAMILIES[code[:3]][0]
    return code, f"packlint_rules.{folder}.{stem}"


PACKAGE = RulePackage(
    modules=dict(_module(stem) for stem in RULES),
    profiles=Path(__file__).parent / "profiles",
    families={code: line for code, (_, line) in FAMILIES.items()},
)
