"""What is drawn of a place: tokens, pack, attention."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from markupsafe import Markup

from packlint.finding import Excerpt, Layout, Location
from packlint.reporters.html.attention import draw_attention
from packlint.reporters.html.pack_map import draw_map
from packlint.reporters.html.places import make_place
from packlint.reporters.html.ribbons import make_ribbon
from packlint.reporters.presentation import Presentation
from tests.reporters.html.pages import SHOWN, leaky_report, page_of

LAYOUT = Layout(
    n_tokens=12,
    n_segments=3,
    stop=12,
    segments=((0, 4), (4, 7), (7, 10)),
    padding=((10, 12),),
    blocks=((0, 7, 0), (7, 12, 1)),
)
PLACE = Location(
    shard="a.parquet",
    pack=3,
    segment=1,
    start=4,
    stop=6,
    context_start=2,
    context=(12, 2, 1, 21, 22, 1, 31, 32, 0),
    excerpt=Excerpt(
        segments=(0, 0, 1, 1, 1, 2, 2, 2, -1),
        is_padding=(False,) * 8 + (True,),
        is_target=(True, True, False, False, True, False, True, True, False),
        roles=("user", "template", "", "assistant", "assistant", "", "", "", ""),
        labels=(12, 2, -100, -100, 99, -100, 31, 32, -100),
        positions=(2, 3, 0, 1, 2, 0, 1, 2, 0),
        layout=LAYOUT,
    ),
)


def drawn(svg: Markup | None) -> ElementTree.Element:
    assert svg is not None
    return ElementTree.fromstring(svg)


def of_class(svg: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [part for part in svg.iter() if name in part.get("class", "").split()]


def test_runs_are_of_one_segment_and_role() -> None:
    ribbon = make_ribbon(PLACE, None, shows_positions=False)

    assert ribbon is not None
    assert [(run.name, run.kind, len(run.tokens)) for run in ribbon.runs] == [
        ("segment 0 · user", "s0", 1),
        ("segment 0 · template", "s0", 1),
        ("segment 1", "s1", 1),
        ("segment 1 · assistant", "s1", 2),
        ("segment 2", "s2", 3),
        ("padding", "pad", 1),
    ]
    assert ribbon.n_before == 2
    assert not ribbon.is_cut


def test_tokens_say_what_they_are() -> None:
    ribbon = make_ribbon(PLACE, None, shows_positions=False)

    assert ribbon is not None
    tokens = [token for run in ribbon.runs for token in run.tokens]
    assert [token.word for token in tokens] == ["12", "2", "1", "21", "22", "1", "31", "32", "0"]
    assert [token.is_fault for token in tokens] == [
        False,
        False,
        True,
        True,
        False,
        False,
        False,
        False,
        False,
    ]
    assert [token.is_first for token in tokens].index(True) == 2
    assert PLACE.excerpt is not None
    assert [token.is_target for token in tokens] == list(PLACE.excerpt.is_target)
    assert [token.below for token in tokens if token.below] == ["label 99"]


def test_positions_are_shown_where_the_rule_is_about_them() -> None:
    assert PLACE.excerpt is not None
    unlabelled = replace(PLACE, excerpt=replace(PLACE.excerpt, labels=()))
    ribbon = make_ribbon(unlabelled, None, shows_positions=True)

    assert ribbon is not None
    below = [token.below for run in ribbon.runs for token in run.tokens]
    assert below == [f"pos {position}" for position in PLACE.excerpt.positions]


def test_decoded_tokens_keep_their_ids() -> None:
    ribbon = make_ribbon(PLACE, lambda ids: " " if ids == (12,) else f"<{ids[0]}>\n", shows_positions=False)

    assert ribbon is not None
    tokens = [token for run in ribbon.runs for token in run.tokens]
    assert [(t.word, t.id) for t in tokens[:2]] == [("␠", "12"), ("<2>\\n", "2")]


def test_tokens_are_spelled_one_by_one_where_decoding_loses_spaces() -> None:
    shown = Presentation(decode=lambda ids: "lost", pieces=lambda ids: [f" <{i}>" for i in ids])
    place = make_place(PLACE, "TGT001", "a.parquet", "", shown)

    assert place.ribbon is not None
    assert [token.word for run in place.ribbon.runs for token in run.tokens][:2] == [" <12>", " <2>"]


def test_a_place_without_an_excerpt_is_drawn_plainly() -> None:
    ribbon = make_ribbon(replace(PLACE, excerpt=None, stop=40), None, shows_positions=False)

    assert ribbon is not None
    assert [(run.name, run.kind) for run in ribbon.runs] == [("", "plain")]
    assert ribbon.is_cut


def test_no_context_no_ribbon() -> None:
    assert make_ribbon(Location(shard="a", pack=-1), None, shows_positions=False) is None


def test_map_is_to_scale() -> None:
    svg = drawn(draw_map(LAYOUT, 4, 6))

    widths = [float(part.get("width", "").rstrip("%")) for part in of_class(svg, "seg")]
    assert widths == pytest.approx([100 * n / 12 for n in (4, 3, 3)], abs=0.01)
    assert len(of_class(svg, "pad")) == 1
    fault = of_class(svg, "fault")[0]
    assert float(fault.get("x", "").rstrip("%")) == pytest.approx(100 * 4 / 12, abs=0.01)
    assert "3 segments, 2 slots of padding; the fault is at tokens 4:6" in svg.get("aria-label", "")


def test_a_fault_at_the_very_end_stays_inside_the_map() -> None:
    fault = of_class(drawn(draw_map(LAYOUT, 12, 12)), "fault")[0]

    x, width = (float(fault.get(name, "").rstrip("%")) for name in ("x", "width"))
    assert x + width <= 100
    assert width > 0


def area(path: str) -> float:
    """Return the area of a triangle `Ma aVbHbZ`."""
    a, b = map(float, re.findall(r"[MV]([\d.]+)", path))
    return (b - a) ** 2 / 2


def test_attention_shows_blocks_over_samples() -> None:
    svg = drawn(draw_attention(LAYOUT))

    scale = (240 / 12) ** 2 / 2
    assert [area(p.get("d", "")) / scale for p in of_class(svg, "leak")] == pytest.approx([49, 25], rel=0.01)
    assert [area(p.get("d", "")) / scale for p in of_class(svg, "own")] == pytest.approx([16, 9, 9], rel=0.01)
    assert len(of_class(svg, "outline")) == 3
    assert "segments 0 to 1 can see the ones before them (hatched)" in svg.get("aria-label", "")


def test_padding_is_taken_out_of_the_attention_but_for_the_rule_about_it() -> None:
    assert len(of_class(drawn(draw_attention(LAYOUT)), "void")) == 2
    assert len(of_class(drawn(draw_attention(LAYOUT, shows_padding=True)), "void")) == 1


def test_attention_of_isolated_samples_has_no_leak() -> None:
    layout = replace(LAYOUT, blocks=tuple((a, b, i) for i, (a, b) in enumerate(LAYOUT.segments)))

    assert "no sample sees another" in drawn(draw_attention(layout)).get("aria-label", "")


def test_blocks_of_one_group_see_each_other() -> None:
    layout = replace(LAYOUT, blocks=((0, 4, 0), (4, 7, 1), (7, 10, 0)))
    svg = drawn(draw_attention(layout))

    links = [part for part in of_class(svg, "leak") if part.tag == "rect"]
    assert len(links) == 1
    assert [float(links[0].get(n, "")) for n in ("x", "y", "width", "height")] == [0, 140, 80, 60]
    assert "segments 0 to 2 can see" in svg.get("aria-label", "")


def test_attention_of_a_stored_mask() -> None:
    svg = drawn(draw_attention(replace(LAYOUT, blocks=(), grid=("o...", "oo..", "#.o.", "..oo"))))

    cell = 240 / 4
    areas = {
        kind: [float(r.get("width", "")) * float(r.get("height", "")) for r in of_class(svg, kind)]
        for kind in ("leak", "own")
    }
    assert areas["leak"] == [cell**2]
    assert sorted(areas["own"]) == [cell**2, cell**2, 2 * cell**2, 2 * cell**2]
    assert "hatched cells reach another sample" in svg.get("aria-label", "")


def test_no_trainer_no_attention() -> None:
    assert draw_attention(replace(LAYOUT, blocks=())) is None


def test_only_isolation_rules_show_attention() -> None:
    assert make_place(PLACE, "ISO001", "a.parquet", "", Presentation()).sight is not None
    assert make_place(PLACE, "TGT001", "a.parquet", "", Presentation()).sight is None


def test_a_place_says_where_it_is() -> None:
    place = make_place(PLACE, "TGT001", "a.parquet", "", Presentation())

    assert place.where == "pack 3 · segment 1 · tokens 4:6 · of 12 slots"
    assert place.shard == ""
    assert make_place(PLACE, "TGT001", "", "", Presentation()).shard == "a.parquet"


def test_a_real_run_is_drawn() -> None:
    page = page_of(leaky_report(), SHOWN)

    assert "ISO001" in page.values("id")
    assert page.with_class("sight")
    assert page.with_class("map")
    assert "segment 0" in page.text
    assert page.count("mark") > 2
