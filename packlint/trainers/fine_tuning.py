"""Fine-tuning programs that pack samples by code of their own.

`shuffles` was read at the same commits:

    axolotl        core/trainers/base.py         random unless `curriculum_sampling`
    llama-factory  hparams/finetuning_args.py    random unless `disable_shuffling`
    torchtune      recipes/configs/llama3/8B_full.yaml, recipes/full_finetune_distributed.py
    automodel      components/datasets/loader.py  random for map-style data unless `shuffle` is false
    xtuner         dataset/samplers/intern_repo.py, xtuner/configs; version 1: v1/datasets/packing.py
    instructlab    training/sampler.py
    ms-swift       arguments/base_args/data_args.py, dataloader/shard.py
    verl           trainer/sft_trainer.py
    colossalai     applications/Colossal-LLaMA/train.py
    prolong        training/dataset.py
"""

from __future__ import annotations

from packlint.model.contract import (
    BoundarySource,
    BoundaryTargets,
    CutPolicy,
    LabelAlignment,
    TrainerContract,
)

__all__ = ["FINE_TUNING"]

_LLAMA_FACTORY = (
    "hiyouga/LLaMA-Factory src/llamafactory/data/{collator,processor/supervised}.py @ ff6d4d12e (2026-08-18)"
)

FINE_TUNING: tuple[TrainerContract, ...] = (
    TrainerContract(
        name="axolotl",
        title="Axolotl sample_packing with flash or flex attention: mask dropped, positions decide",
        isolates_by=(BoundarySource.POSITION_IDS, BoundarySource.ATTENTION_MASK, BoundarySource.ROWS),
        reads_padding_segments=True,
        packs_at_read=True,
        shuffles=True,
        source="axolotl-ai-cloud/axolotl src/axolotl/{core/trainers/base,utils/collators/batching}.py"
        " @ 067b021c8 (2026-07-24)",
    ),
    TrainerContract(
        name="llama-factory",
        title="LLaMA-Factory neat_packing: attention_mask numbered 1..n, 0 on padding",
        isolates_by=(BoundarySource.ATTENTION_MASK,),
        extra_slots_per_pack=1,
        shuffles=True,
        source=_LLAMA_FACTORY,
    ),
    TrainerContract(
        name="llama-factory-plain",
        title="LLaMA-Factory packing without neat_packing: attention_mask of ones, no isolation",
        isolates_by=(BoundarySource.POSITION_IDS,),
        mask_overrides_positions=True,
        extra_slots_per_pack=1,
        shuffles=True,
        source=_LLAMA_FACTORY,
    ),
    TrainerContract(
        name="llama-factory-dpo",
        title="LLaMA-Factory stage dpo, rows of a pair: each side a sequence of its own, loss from labels",
        isolates_by=(BoundarySource.ROWS,),
        boundary_targets=BoundaryTargets.IMPOSSIBLE,
        packs_at_read=True,
        shuffles=True,
        source="hiyouga/LLaMA-Factory src/llamafactory/data/{collator,processor/pairwise}.py"
        " @ ff6d4d12e (2026-08-18)",
    ),
    TrainerContract(
        name="torchtune",
        title="torchtune PackedDataset: block mask from seq_lens, the padding run included",
        isolates_by=(BoundarySource.SEQ_LENS,),
        positions_continue=True,
        reads_padding_segments=True,
        shuffles=True,
        source="pytorch/torchtune torchtune/datasets/_packed.py, torchtune/data/_collate.py"
        " @ bd2a0fc7c (2026-04-23)",
    ),
    TrainerContract(
        name="automodel",
        title="NeMo Automodel packed_sequence (seq_lens) and neat_packing (numbered attention_mask)",
        isolates_by=(BoundarySource.SEQ_LENS, BoundarySource.ATTENTION_MASK),
        label_alignment=LabelAlignment.PRESHIFTED,
        boundary_targets=BoundaryTargets.IMPOSSIBLE,
        shuffles=True,
        source="NVIDIA-NeMo/Automodel nemo_automodel/components/datasets/llm/packed_sequence.py,"
        " neat_packing.py @ 36044ad3d (2026-08-22)",
    ),
    TrainerContract(
        name="xtuner",
        title="XTuner 0.1 and 0.2 with use_varlen_attn: cumulative_len",
        isolates_by=(BoundarySource.CU_SEQLENS,),
        cut_policy=CutPolicy.WINDOWS,
        reads_padding_segments=True,
        shuffles=True,
        source="InternLM/xtuner xtuner/dataset/utils.py, collate_fns/default_collate_fn.py @ v0.1.23",
    ),
    TrainerContract(
        name="xtuner-v1",
        title="XTuner 1: packs by a plan when it reads, shifts the whole pack",
        isolates_by=(BoundarySource.CU_SEQLENS, BoundarySource.ROWS),
        reads_padding_segments=True,
        packs_at_read=True,
        shuffles=True,
        source="InternLM/xtuner xtuner/v1/datasets/{packing,collator}.py @ b934f4620 (2026-08-21)",
    ),
    TrainerContract(
        name="instructlab",
        title="InstructLab training, flash attention: rows of one sample, joined with restarted positions",
        isolates_by=(BoundarySource.POSITION_IDS, BoundarySource.ROWS),
        packs_at_read=True,
        shuffles=True,
        source="instructlab/training src/instructlab/training/sampler.py @ fa5b53b (2026-04-30)",
    ),
    TrainerContract(
        name="ms-swift",
        title="ms-swift packing: rows of one sample, joined with restarted positions",
        isolates_by=(BoundarySource.POSITION_IDS, BoundarySource.ROWS),
        reads_padding_segments=True,
        packs_at_read=True,
        shuffles=True,
        source="modelscope/ms-swift swift/template/base.py, swift/dataset/packing.py"
        " @ 3602360a5 (2026-08-22)",
    ),
    TrainerContract(
        name="verl",
        title="verl fine-tuning: rows of one sample, padding removed in the batch",
        isolates_by=(BoundarySource.ROWS,),
        packs_at_read=True,
        shuffles=True,
        source="verl-project/verl verl/utils/dataset/multiturn_sft_dataset.py,"
        " verl/workers/engine/fsdp/transformer_impl.py @ 1dda039b9 (2026-08-22)",
    ),
    TrainerContract(
        name="colossalai",
        title="Colossal-LLaMA spliced data sets: whole samples glued, no boundary kept, no isolation",
        shuffles=True,
        source="hpcaitech/ColossalAI applications/Colossal-LLaMA/colossal_llama/dataset/"
        "{loader,spliced_and_tokenized_dataset}.py @ 4f9953be3 (2026-04-09)",
    ),
    TrainerContract(
        name="prolong",
        title="ProLong on MDS with an indices column; the first label of each span is masked",
        isolates_by=(BoundarySource.CU_SEQLENS,),
        boundary_targets=BoundaryTargets.MASKED,
        cut_policy=CutPolicy.FRAGMENTS,
        reads_padding_segments=True,
        shuffles=True,
        source="princeton-nlp/ProLong training/dataset.py @ 907dcf4 (2025-03-06)",
    ),
)
