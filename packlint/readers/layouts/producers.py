"""The table of producers: which columns give them away, and how they lay out their rows.

Most specific first; the first row that matches decides. To teach packlint a producer, add a row.
"""

from __future__ import annotations

from packlint.model.batch import Unit
from packlint.model.contract import LabelAlignment
from packlint.readers.layouts.signature import Signature
from packlint.readers.layouts.synonyms import TRL_MASKS
from packlint.readers.shard import PaddingMark, Role

__all__ = ["GENERIC", "SIGNATURES"]

_PRESHIFTED = LabelAlignment.PRESHIFTED
_TOKENS_LABELS = frozenset({"input_ids", "labels"})

SIGNATURES: tuple[Signature, ...] = (
    Signature(
        producer="LLaMA-Factory, neat packing",
        trainer="llama-factory",
        source="LLaMA-Factory src/llamafactory/data/processor/supervised.py",
        has=("input_ids", "attention_mask", "packing_params"),
        padding=PaddingMark.MASK_ZERO,
    ),
    Signature(
        producer="LLaMA-Factory, plain packing",
        trainer="llama-factory-plain",
        source="LLaMA-Factory src/llamafactory/data/processor/supervised.py",
        has=("input_ids", "attention_mask", "position_ids", "labels", "images", "videos", "audios"),
        # Its attention mask is 1 on padding too, so that only the positions tell.
        padding=PaddingMark.POSITION_ZERO,
    ),
    Signature(
        producer="NeMo-Automodel",
        trainer="automodel",
        source="Automodel nemo_automodel/components/datasets/llm/packed_sequence.py",
        has=("input_ids", "labels", "seq_lens", "seq_lens_padded"),
        alignment=_PRESHIFTED,
        padding=PaddingMark.BEYOND_LENGTHS,
        lengths_cover_padding=False,
    ),
    Signature(
        producer="torchtune",
        trainer="torchtune",
        source="torchtune torchtune/datasets/_packed.py",
        has=("tokens", "input_pos", "seq_lens"),
        padding=PaddingMark.LAST_LENGTH,
    ),
    Signature(
        producer="Megatron-Bridge or NeMo, packed fine-tuning data",
        trainer="megatron-bridge",
        source="Megatron-Bridge src/megatron/bridge/data/packing/parquet.py",
        has=("input_ids", "loss_mask", "seq_start_id"),
        alignment=_PRESHIFTED,
        padding=PaddingMark.NEVER_STORED,
        offsets_have_end=False,
    ),
    Signature(
        producer="XTuner 0.1, variable-length attention",
        trainer="xtuner",
        source="XTuner v0.1.23 xtuner/dataset/utils.py",
        has=("input_ids", "labels", "cumulative_len"),
        padding=PaddingMark.NEVER_STORED,
    ),
    Signature(
        producer="MaxText",
        trainer="maxtext",
        source="maxtext src/maxtext/input_pipeline/input_pipeline_utils.py",
        has=("inputs", "targets", "inputs_segmentation", "targets_segmentation"),
        alignment=_PRESHIFTED,
        padding=PaddingMark.SEGMENT_ID,
    ),
    Signature(
        producer="Grain or seqio",
        trainer="grain",
        source="grain grain/_src/python/dataset/transformations/packing.py; seqio seqio/utils.py",
        has=("inputs", "targets", "inputs_segment_ids", "targets_segment_ids"),
        padding=PaddingMark.SEGMENT_ID,
    ),
    Signature(
        producer="seqio, language model converter",
        trainer="seqio",
        source="seqio seqio/feature_converters.py",
        has=("decoder_target_tokens", "decoder_segment_ids"),
        # The decoder's inputs are its targets moved right, so the targets are the tokens, unshifted.
        roles={
            Role.INPUT_IDS: "decoder_target_tokens",
            Role.LOSS_MASK: "decoder_loss_weights",
            Role.SEGMENT_IDS: "decoder_segment_ids",
            Role.POSITION_IDS: "decoder_positions",
        },
        padding=PaddingMark.SEGMENT_ID,
    ),
    Signature(
        producer="transformers or TRL, flattened batch",
        trainer="transformers-flattening",
        source="transformers src/transformers/data/data_collator.py, DataCollatorWithFlattening",
        has=("input_ids", "position_ids"),
        any_of=("cu_seq_lens_q", "seq_idx"),
        nothing=-1,
    ),
    Signature(
        producer="Megatron GPTDataset",
        trainer="megatron",
        source="Megatron-LM megatron/core/datasets/gpt_dataset.py",
        has=("tokens", "labels", "loss_mask", "position_ids"),
        alignment=_PRESHIFTED,
        dense_mask_blocks=True,
    ),
    Signature(
        producer="Levanter",
        trainer="levanter-packed",
        source="levanter src/levanter/models/lm_model.py",
        has=("tokens", "loss_mask", "segment_ids"),
        lacks=("labels",),
        alignment=_PRESHIFTED,
        padding=PaddingMark.SEGMENT_ID,
        nothing=-1,
    ),
    Signature(
        producer="torchtitan",
        trainer="torchtitan",
        source="torchtitan torchtitan/components/data/packing.py",
        has=("input_ids", "labels", "positions"),
        alignment=_PRESHIFTED,
    ),
    Signature(
        producer="OLMo-core, packed rows",
        trainer="olmo-core",
        source="OLMo-core src/olmo_core/data/numpy_dataset.py",
        has=("input_ids", "label_mask"),
        lacks=("labels",),
        # Its document lengths count the run of padding as one more document.
        padding=PaddingMark.LAST_LENGTH,
    ),
    Signature(
        producer="TRL, bfd packing",
        trainer="trl",
        source="trl 1.16.0 trl/data_utils.py, trl/trainer/sft_trainer.py",
        has=("input_ids", "labels", "seq_lengths"),
        ignored=TRL_MASKS,
        padding=PaddingMark.NEVER_STORED,
    ),
    Signature(
        producer="TRL before 1.0, bfd packing with mask columns",
        trainer="trl-0",
        source="trl 0.24.0 trl/data_utils.py, trl/trainer/sft_trainer.py",
        has=("input_ids", "seq_lengths"),
        any_of=TRL_MASKS,
        padding=PaddingMark.NEVER_STORED,
    ),
    Signature(
        producer="TRL, bfd packing",
        trainer="trl",
        source="trl 0.24.0 and later trl/data_utils.py",
        has=("input_ids", "seq_lengths"),
        padding=PaddingMark.NEVER_STORED,
    ),
    Signature(
        producer="Axolotl, prepared samples",
        trainer="axolotl",
        source="axolotl src/axolotl/utils/trainer.py, src/axolotl/utils/data/shared.py",
        has=("input_ids", "labels", "position_ids"),
        scalars=("length",),
        unit=Unit.SAMPLE,
        padding=PaddingMark.MASK_ZERO,
    ),
    Signature(
        producer="InstructLab, samples",
        trainer="instructlab",
        source="instructlab/training src/instructlab/training/data_process.py",
        has=("input_ids", "labels"),
        scalars=("len",),
        unit=Unit.SAMPLE,
        padding=PaddingMark.NEVER_STORED,
    ),
    Signature(
        producer="ms-swift, encoded samples",
        trainer="ms-swift",
        source="ms-swift swift/pipelines/export/cached_dataset.py",
        has=("input_ids", "labels"),
        scalars=("length",),
        lacks=("position_ids", "seq_lens", "cu_seqlens", "segment_ids", "indices"),
        unit=Unit.SAMPLE,
        padding=PaddingMark.MASK_ZERO,
    ),
    Signature(
        producer="Axolotl, multipack batch",
        trainer="axolotl",
        source="axolotl src/axolotl/utils/collators/batching.py",
        has=("input_ids", "attention_mask", "position_ids"),
        marks=frozenset({"axolotl"}),
        padding=PaddingMark.MASK_ZERO,
    ),
    Signature(
        producer="NeMo-Automodel, neat packing",
        trainer="automodel",
        source="Automodel nemo_automodel/components/datasets/llm/neat_packing.py",
        has=("input_ids", "labels", "attention_mask"),
        marks=frozenset({"automodel"}),
        alignment=_PRESHIFTED,
        padding=PaddingMark.MASK_ZERO,
    ),
    Signature(
        producer="TRL, wrapped packing",
        trainer="trl-wrapped",
        source="trl 1.16.0 trl/data_utils.py",
        has=("input_ids",),
        only=_TOKENS_LABELS,
        marks=frozenset({"trl"}),
        padding=PaddingMark.NEVER_STORED,
    ),
    Signature(
        producer="ColossalAI",
        trainer="colossalai",
        source="ColossalAI applications/Colossal-LLaMA/.../spliced_and_tokenized_dataset.py",
        has=("input_ids", "labels"),
        only=_TOKENS_LABELS,
        marks=frozenset({"colossalai"}),
        padding=PaddingMark.NEVER_STORED,
    ),
    Signature(
        producer="TRL 0.19, ffd packing",
        trainer="trl-ffd",
        source="trl 0.19.1 trl/data_utils.py; any packer that only restarts positions looks the same",
        has=("input_ids", "position_ids"),
        only=frozenset({"position_ids", *_TOKENS_LABELS, *TRL_MASKS}),
    ),
    Signature(
        producer="TRL before 1.0, mask columns",
        trainer="trl-0",
        source="trl 0.24.0 trl/trainer/sft_trainer.py",
        has=("input_ids",),
        any_of=TRL_MASKS,
        lacks=("labels",),
    ),
    Signature(
        producer="Hugging Face rows",
        trainer="transformers",
        source="transformers src/transformers/data/data_collator.py",
        has=("input_ids", "attention_mask"),
        only=frozenset({"attention_mask", "position_ids", *_TOKENS_LABELS}),
        padding=PaddingMark.MASK_ZERO,
    ),
)

GENERIC = Signature(producer="unknown packer", trainer=None, source="names of columns only")
"""What is left: roles by name, no producer, no trainer."""
