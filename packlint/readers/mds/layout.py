"""Columns of an MDS shard → `Layout`.

    tokens                            ConcatTokensDataset of LLM Foundry: windows of the stream of documents
    input_ids, indices [n, 2], mask   ProLong and datatools: samples side by side, start and end of each
    input_ids, labels                 samples one by one, which BinPackCollator packs when it reads
    anything else                     by the names of the columns

Source: `llmfoundry/data/{data,packing}.py` (mosaicml/llm-foundry, 8c8dd48f7); `training/dataset.py`
(princeton-nlp/ProLong, 907dcf4); `datatools/scripts/pack.py` (CodeCreator/datatools, 56f591b).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from packlint.errors import UnreadableError
from packlint.model.batch import Unit
from packlint.readers.layouts import ColumnKind, Element, detect_layout
from packlint.readers.layouts.synonyms import SYNONYMS
from packlint.readers.mds.encodings import Encoding
from packlint.readers.shard import Layout, PaddingMark, Role, Settings

__all__ = ["INDICES", "mds_layout"]

INDICES = "indices"
"""Column of start and end of each sample, `[n, 2]`."""
_IDS_ONLY = frozenset({Role.INPUT_IDS, Role.SAMPLE_IDS})
_ROWS = frozenset({Role.INPUT_IDS, Role.LABELS, Role.ATTENTION_MASK, Role.SAMPLE_IDS})


def mds_layout(encodings: Mapping[str, Encoding], settings: Settings, bytes_dtype: str | None) -> Layout:
    """Return how the rows of a shard are laid out.

    Args:
        encodings: how each column is stored.
        settings: what the user told.
        bytes_dtype: what token ids stored as `bytes` are, or none when they are not stored so.

    Raises:
        UnreadableError: no column holds token ids, as far as may be read.
    """
    kinds = {
        name: ColumnKind(Element.INT, 1) if bytes_dtype and encoding.text == "bytes" else encoding.kind
        for name, encoding in encodings.items()
    }
    _demand_readable(encodings, settings)
    layout = detect_layout(kinds, renamed=settings.columns)
    evidence = (*layout.evidence, _stored(encodings, layout))
    if INDICES in encodings and encodings[INDICES].kind.element is Element.INT:
        return _prolong(encodings, layout, evidence)
    if layout.columns.keys() <= _IDS_ONLY:
        why = "no column but the token ids: ConcatTokensDataset (llmfoundry/data/data.py)"
        return replace(
            layout,
            producer="LLM Foundry, ConcatTokensDataset",
            trainer="llm-foundry",
            padding=PaddingMark.NEVER_STORED,
            evidence=(*evidence, why),
        )
    if Role.LABELS in layout.columns and layout.columns.keys() <= _ROWS:
        has_mask = Role.ATTENTION_MASK in layout.columns
        return replace(
            layout,
            producer="LLM Foundry, samples",
            trainer="llm-foundry-finetuning",
            unit=Unit.SAMPLE,
            padding=PaddingMark.MASK_ZERO if has_mask else PaddingMark.NEVER_STORED,
            evidence=(
                *evidence,
                "one sample per row, packed by BinPackCollator (llmfoundry/data/packing.py)",
            ),
        )
    return replace(layout, evidence=evidence)


def _prolong(encodings: Mapping[str, Encoding], layout: Layout, evidence: tuple[str, ...]) -> Layout:
    columns = {Role.INPUT_IDS: layout.columns[Role.INPUT_IDS], Role.CU_SEQLENS: INDICES}
    if "mask" in encodings and Role.LOSS_MASK not in layout.columns:
        columns[Role.LOSS_MASK] = "mask"
    why = f"column {INDICES}: start and end of each sample, ProLong (training/dataset.py)"
    return replace(
        layout,
        producer="ProLong or datatools",
        trainer="prolong",
        columns={**layout.columns, **columns},
        unit=Unit.PACK,
        padding=PaddingMark.NEVER_STORED,
        evidence=(*evidence, why),
    )


def _stored(encodings: Mapping[str, Encoding], layout: Layout) -> str:
    used = [name for name in layout.columns.values() if name in encodings]
    return "stored as " + ", ".join(f"{name} {encodings[name].text}" for name in used)


def _demand_readable(encodings: Mapping[str, Encoding], settings: Settings) -> None:
    """Refuse token ids that only unpickling or the like could read, by name."""
    wanted = settings.columns.get(Role.INPUT_IDS.value)
    names = [wanted] if wanted else SYNONYMS[Role.INPUT_IDS]
    found = [name for name in names if name in encodings]
    if found and not any(encodings[name].is_readable for name in found):
        text = encodings[found[0]].text
        if text != "str":
            raise UnreadableError(f"column {found[0]} is stored as {text[:20]}, which is never decoded")
