"""Pretraining programs: streams of documents, and the JAX family's segment ids.

`shuffles` was read at the same commits:

    olmo-core          data/data_loader.py          random unless `shuffle` is false
    litgpt             litgpt/data/lit_data.py      chunks, and blocks inside a chunk
    nanogpt            train.py                     windows at random places
    llm-c              llmc/dataloader.h            shards, and windows inside a shard
    fms-fsdp           utils/dataset_utils.py       files, and documents inside a file
    fairseq            tasks/language_modeling.py, fairseq_cli/train.py
    modded-nanogpt     train_gpt.py                 files in the order of their names
    automodel-nanogpt  llm/nanogpt_dataset.py       files in the order of their names

LLM Foundry (false in code, true in its recipes), nanotron, torchtitan, MaxText, Grain, seqio and Levanter do
as their configuration says.
"""

from __future__ import annotations

from packlint.model.contract import (
    BoundarySource,
    BoundaryTargets,
    BoundaryToken,
    CutPolicy,
    LabelAlignment,
    TrainerContract,
)

__all__ = ["PRETRAINING"]

_FOUNDRY = "mosaicml/llm-foundry llmfoundry/data/text_data.py, llmfoundry/models/mpt @ 8c8dd48f7 (2025-07-21)"
_OLMO = "allenai/OLMo-core src/olmo_core/data/{numpy_dataset,utils}.py @ fa6c5014c (2026-06-22)"
_NANOTRON = "huggingface/nanotron src/nanotron/data/{nanoset,clm_collator}.py @ 2411b022 (2026-04-07)"

_STREAMS: tuple[TrainerContract, ...] = (
    TrainerContract(
        name="olmo-core",
        title="OLMo-core with generate_doc_lengths: documents by a scan for the end token",
        isolates_by=(BoundarySource.SEQ_LENS, BoundarySource.BOUNDARY_TOKENS),
        cut_policy=CutPolicy.WINDOWS,
        boundary_token=BoundaryToken.END,
        scans_for_end_token=True,
        reads_padding_segments=True,
        is_stream=True,
        shuffles=True,
        source=_OLMO,
    ),
    TrainerContract(
        name="olmo-core-plain",
        title="OLMo-core without generate_doc_lengths (its default): no isolation",
        cut_policy=CutPolicy.WINDOWS,
        boundary_token=BoundaryToken.END,
        scans_for_end_token=True,
        is_stream=True,
        shuffles=True,
        source=_OLMO,
    ),
    TrainerContract(
        name="llm-foundry",
        title="LLM Foundry text data, eos_token_id or bos_token_id set and attn_uses_sequence_id on",
        isolates_by=(BoundarySource.BOUNDARY_TOKENS,),
        reads_loss=False,
        cut_policy=CutPolicy.WINDOWS,
        scans_for_end_token=True,
        masks_padding_by_id=True,
        source=_FOUNDRY,
    ),
    TrainerContract(
        name="llm-foundry-plain",
        title="LLM Foundry text data, defaults: no sequence_id, no isolation",
        reads_loss=False,
        cut_policy=CutPolicy.WINDOWS,
        masks_padding_by_id=True,
        source=_FOUNDRY,
    ),
    TrainerContract(
        name="llm-foundry-finetuning",
        title="LLM Foundry fine-tuning, packing_ratio and attn_uses_sequence_id set: sequence_id",
        isolates_by=(BoundarySource.SEGMENT_IDS, BoundarySource.ROWS),
        boundary_targets=BoundaryTargets.MASKED,
        packs_at_read=True,
        source="mosaicml/llm-foundry llmfoundry/data/packing.py @ 8c8dd48f7 (2025-07-21)",
    ),
    TrainerContract(
        name="nanotron",
        title="nanotron over datatrove .ds, defaults: no document masking, no isolation",
        reads_loss=False,
        cut_policy=CutPolicy.WINDOWS,
        extra_slots_per_pack=1,
        is_stream=True,
        source=_NANOTRON,
    ),
    TrainerContract(
        name="nanotron+use_doc_masking",
        title="nanotron with _use_doc_masking: positions by a scan for the end token",
        isolates_by=(BoundarySource.POSITION_IDS, BoundarySource.BOUNDARY_TOKENS),
        reads_loss=False,
        boundary_targets=BoundaryTargets.MASKED,
        scans_for_end_token=True,
        cut_policy=CutPolicy.WINDOWS,
        extra_slots_per_pack=1,
        is_stream=True,
        source=_NANOTRON,
    ),
    TrainerContract(
        name="litgpt",
        title="LitGPT pretraining over litdata or LITPKDS: blocks of one token more, no isolation",
        reads_loss=False,
        cut_policy=CutPolicy.WINDOWS,
        extra_slots_per_pack=1,
        is_stream=True,
        shuffles=True,
        source="Lightning-AI/litgpt litgpt/pretrain.py, litgpt/data/lit_data.py @ 26857050 (2026-06-29)",
    ),
    TrainerContract(
        name="nanogpt",
        title="nanoGPT: windows at random places, end token after each document, no isolation",
        reads_loss=False,
        cut_policy=CutPolicy.WINDOWS,
        boundary_token=BoundaryToken.END,
        is_stream=True,
        shuffles=True,
        source="karpathy/nanoGPT train.py, data/openwebtext/prepare.py @ 3adf61e1 (2025-11-12)",
    ),
    TrainerContract(
        name="llm-c",
        title="llm.c: end-of-text token before each document, no isolation",
        reads_loss=False,
        cut_policy=CutPolicy.WINDOWS,
        boundary_token=BoundaryToken.BEGIN,
        is_stream=True,
        shuffles=True,
        source="karpathy/llm.c llmc/dataloader.h, dev/data/data_common.py @ f1e2ace",
    ),
    TrainerContract(
        name="automodel-nanogpt",
        title="NeMo-Automodel NanogptDataset: begin token before each document, windows of seq + 1",
        reads_loss=False,
        cut_policy=CutPolicy.WINDOWS,
        boundary_token=BoundaryToken.BEGIN,
        extra_slots_per_pack=1,
        is_stream=True,
        shuffles=False,
        source="NVIDIA-NeMo/Automodel nemo_automodel/components/datasets/llm/nanogpt_dataset.py @ 36044ad3d",
    ),
    TrainerContract(
        name="modded-nanogpt",
        title="modded-nanogpt: documents found by their begin token, each cut at max_seq_len",
        isolates_by=(BoundarySource.BOUNDARY_TOKENS,),
        reads_loss=False,
        cut_policy=CutPolicy.FRAGMENTS,
        boundary_token=BoundaryToken.BEGIN,
        is_stream=True,
        shuffles=False,
        source="KellerJordan/modded-nanogpt train_gpt.py, data/fineweb.py @ f411b3d3 (2026-08-01)",
    ),
    TrainerContract(
        name="fms-fsdp",
        title="IBM fms-fsdp: begin and end tokens set by the loader, no isolation",
        reads_loss=False,
        cut_policy=CutPolicy.WINDOWS,
        boundary_token=BoundaryToken.LOADER,
        extra_slots_per_pack=1,
        is_stream=True,
        shuffles=True,
        source="foundation-model-stack/fms-fsdp fms_fsdp/utils/{dataset_utils,dataloader_utils}.py"
        " @ 5a296af (2025-07-10)",
    ),
    TrainerContract(
        name="fairseq",
        title="fairseq language modelling, TokenBlockDataset with break mode none: no isolation",
        reads_loss=False,
        cut_policy=CutPolicy.WINDOWS,
        is_stream=True,
        shuffles=True,
        source="facebookresearch/fairseq fairseq/data/{token_block_dataset,indexed_dataset}.py"
        " @ 3d262bb2 (2025-09-30)",
    ),
    TrainerContract(
        name="torchtitan",
        title="torchtitan: positions restart at each document, labels shifted inside it",
        isolates_by=(BoundarySource.POSITION_IDS,),
        label_alignment=LabelAlignment.PRESHIFTED,
        boundary_targets=BoundaryTargets.IMPOSSIBLE,
        cut_policy=CutPolicy.FRAGMENTS,
        reads_padding_segments=True,
        source="pytorch/torchtitan torchtitan/components/data/{packing,collators}.py,"
        " torchtitan/models/common/attention.py @ b5bcd76c6 (2026-08-21)",
    ),
)

_SEGMENT_IDS: tuple[TrainerContract, ...] = (
    TrainerContract(
        name="maxtext",
        title="MaxText batches, Grain path: targets shifted, loss where targets_segmentation is not 0",
        isolates_by=(BoundarySource.SEGMENT_IDS,),
        label_alignment=LabelAlignment.PRESHIFTED,
        masks_padding_by_id=True,
        source="AI-Hypercomputer/maxtext src/maxtext/input_pipeline/input_pipeline_utils.py,"
        " src/maxtext/layers/attention_op.py @ e591f30cb (2026-08-22)",
    ),
    TrainerContract(
        name="grain",
        title="rows packed by Grain first fit or best fit (*_segment_ids); a trainer that shifts later",
        isolates_by=(BoundarySource.SEGMENT_IDS,),
        source="google/grain grain/_src/python/dataset/transformations/packing.py @ f5dd0d8",
    ),
    TrainerContract(
        name="seqio",
        title="seqio and T5X packed features (*_segment_ids); inputs are shifted inside each segment",
        isolates_by=(BoundarySource.SEGMENT_IDS,),
        boundary_targets=BoundaryTargets.IMPOSSIBLE,
        masks_padding_by_id=True,
        source="google/seqio seqio/{utils,feature_converters}.py @ b898b9f (2025-08-29)",
    ),
    TrainerContract(
        name="seqio-inputs",
        title="seqio and T5X encoder inputs (inputs_segment_ids): read, never predicted, no end token",
        isolates_by=(BoundarySource.SEGMENT_IDS,),
        reads_loss=False,
        predicts_tokens=False,
        boundary_token=BoundaryToken.LOADER,
        source="google/seqio seqio/feature_converters.py @ b898b9f (2025-08-29)",
    ),
    TrainerContract(
        name="levanter",
        title="Levanter token caches: windows of a stream, documents by a scan for the end token",
        isolates_by=(BoundarySource.BOUNDARY_TOKENS,),
        label_alignment=LabelAlignment.PRESHIFTED,
        reads_loss=False,
        cut_policy=CutPolicy.WINDOWS,
        scans_for_end_token=True,
        is_stream=True,
        source="stanford-crfm/levanter src/levanter/data/text.py, src/levanter/models/lm_model.py"
        " @ 9263f81e (2025-09-26)",
    ),
    TrainerContract(
        name="levanter-packed",
        title="Levanter packed fine-tuning examples: segment ids, -1 on padding",
        isolates_by=(BoundarySource.SEGMENT_IDS,),
        label_alignment=LabelAlignment.PRESHIFTED,
        boundary_targets=BoundaryTargets.MASKED,
        source="stanford-crfm/levanter src/levanter/data/packing.py, src/levanter/models/lm_model.py"
        " @ 9263f81e (2025-09-26)",
    ),
)

PRETRAINING: tuple[TrainerContract, ...] = (*_STREAMS, *_SEGMENT_IDS)
