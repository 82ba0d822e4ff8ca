"""Texts that read like something: prose in three languages, Python, and conversations, all seeded.

Sentences are templates with gaps; words that fill them are in `WORDS`. Nothing here depends on the machine: a
`random.Random` gives the same numbers everywhere.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence

__all__ = ["LANGUAGES", "answer", "code", "prose", "question", "system"]

_GAP = re.compile(r"\{(\w+)\}")
_BEFORE_VOWEL = re.compile(r"\b([Aa]) (?=[aeio])")

WORDS: Mapping[str, Sequence[str]] = {
    name: words.split()
    for name, words in {
        "thing": "river bridge window letter engine garden market mirror signal rocket ticket needle island "
        "forest harbour lantern kettle ladder valley compass archive station quarry orchard tunnel",
        "who": "farmer pilot baker teacher captain painter doctor singer miller judge gardener sailor clerk",
        "how": "small large warm cold quiet bright dark round flat early narrow heavy hollow steady ancient",
        "does": "keeps finds opens closes carries crosses follows repairs paints watches borrows measures",
        "did": "kept found opened closed carried crossed followed repaired painted watched borrowed measured",
        "do": "open close copy move sort rename merge split check repair print share lock restore compare",
        "what": "file folder table chart report calendar contact invoice photo playlist password draft",
        "tool": "the editor,the viewer,the console,the planner,the mailbox,the notebook,the browser".replace(
            " ", "~"
        ).replace(",", " "),
        "number": "2 3 4 5 7 8 10 12 15 20 24 30 40 60 100",
        "year": "1604 1712 1788 1820 1851 1877 1903 1924 1938 1955 1969 1987",
        "place": "Aldhaven Brimwick Corley Dunmoor Eastmere Farrowby Greyford Holm Ivelden Kestrel",
        "ding": "Fluss Garten Brief Turm Wald Hafen Spiegel Markt Berg Zug Schrank Ofen Teich Bahnhof",
        "wer": "Bauer Lehrer Maler Richter Gärtner Bäcker Kapitän Müller Sänger Schreiber",
        "wie": "kleine große stille alte dunkle warme schmale runde frühe schwere",
        "tut": "findet öffnet trägt malt sucht verkauft misst prüft leiht bewacht",
        "chose": "jardin pont miroir train marché phare moulin navire coffre sentier four verger",
        "qui": "boulanger peintre juge pilote meunier chanteur médecin berger libraire marin",
        "quel": "petit grand vieux calme sombre rond étroit lourd premier ancien",
        "fait": "trouve ouvre porte garde peint cherche mesure vend suit répare",
    }.items()
}

_SENTENCES: Mapping[str, Sequence[str]] = {
    "en": (
        "The {how} {thing} near {place} was built in {year}.",
        "A {who} {does} the {thing} before the {how} {thing} is full.",
        "In {year} the {who} of {place} {did} a {how} {thing}, and nobody asked why.",
        "It has {number} rooms, a {thing} and a {how} {thing}.",
        "When the {thing} is {how}, the {who} {does} it and the {who} waits.",
        "Most of the {thing} was lost, but one {who} {did} what was left of it.",
        "About {number} people live there, among them a {who} who {does} every {thing}.",
        "Later a {how} {thing} took its place.",
        "The road to {place} {does} the {thing} twice.",
    ),
    "de": (
        "Der {wie} {ding} bei {place} ist von {year}.",
        "Ein {wer} {tut} den Schlüssel, und der {wie} {ding} bleibt zu.",
        "Im Jahr {year} {tut} der {wer} einen Brief aus {place}.",
        "Dort stehen {number} Häuser und ein {ding}.",
        "Wenn der {ding} leer ist, {tut} der {wer} das Holz.",
    ),
    "fr": (
        "Le {quel} {chose} de {place} date de {year}.",
        "Un {qui} {fait} la clé, et le {quel} {chose} reste ouvert.",
        "En {year} le {qui} {fait} une lettre pour {place}.",
        "Il y a {number} maisons et un {chose}.",
        "Quand le {chose} est vide, le {qui} {fait} le bois.",
    ),
}
LANGUAGES = tuple(_SENTENCES)

_FUNCTIONS = (
    "def {do}_{what}({what}s, limit={number}):\n"
    '    """Return every {what} above the limit."""\n'
    "    found = []\n"
    "    for {what} in {what}s:\n"
    "        if {what}.size > limit:\n"
    "            found.append({what}.name)\n"
    "    return found\n",
    "def {do}_{thing}(self, {what}, n={number}):\n"
    "    total = 0\n"
    "    while {what} is not None and total < n:\n"
    "        total += self.{do}({what})\n"
    "        {what} = {what}.next\n"
    "    return total\n",
    "class {What}:\n"
    '    """Hold one {what} of the {thing}."""\n'
    "\n"
    "    def __init__(self, {what}):\n"
    "        self.{what} = {what}\n"
    "        self.n_{thing}s = {number}\n",
    'def test_{do}_{what}():\n    assert {do}("{thing}", {number}) == ["{what}", "{thing}"]\n',
)
_SYSTEMS = (
    "You are a helpful assistant. Answer in plain words.",
    "You help people with {tool}. Be brief.",
    "You are the guide of {place}. Never guess.",
)
_QUESTIONS = (
    "How do I {do} a {what} in {tool}?",
    "Can {tool} {do} more than {number} {what}s at once?",
    "My {what} is gone since I tried to {do} it. What now?",
    "Which {what} did I {do} last in {tool}?",
    "Please {do} the {how} {what} and then {do} the {thing} {what}.",
    "Is there a way to {do} every {what} of the {thing}?",
)
_ANSWERS = (
    "Open {tool}, choose the {how} {what} and {do} it.",
    "You can {do} up to {number} {what}s; each must be {how}.",
    "First {do} the {what}, then {do} what is left.",
    "If the {what} is {how}, {tool} will {do} it for you.",
    "No: {tool} cannot {do} a {what}, but it can {do} a {how} one.",
    "Wait {number} minutes and {do} the {thing} {what} again.",
    "The {what} of the {thing} is kept for {number} days.",
)


def prose(rng: random.Random, n_sentences: int, language: str = "en") -> str:
    """Return some sentences of one language."""
    return " ".join(_filled(rng, _SENTENCES[language]) for _ in range(n_sentences))


def code(rng: random.Random, n_functions: int) -> str:
    """Return Python that parses, whatever it does."""
    return "\n".join(_filled(rng, _FUNCTIONS) for _ in range(n_functions))


def system(rng: random.Random) -> str:
    """Return what a system says."""
    return _filled(rng, _SYSTEMS)


def question(rng: random.Random) -> str:
    """Return what a user says."""
    return _filled(rng, _QUESTIONS)


def answer(rng: random.Random, n_sentences: int) -> str:
    """Return what an assistant says."""
    return " ".join(_filled(rng, _ANSWERS) for _ in range(n_sentences))


def _filled(rng: random.Random, templates: Sequence[str]) -> str:
    """Fill the gaps of a template; a name that stands twice in code is the same twice."""
    template = rng.choice(templates)
    is_code = "\n" in template
    chosen: dict[str, str] = {}

    def fill(gap: re.Match[str]) -> str:
        name = gap[1].lower()
        if not (is_code and name in chosen):
            chosen[name] = rng.choice(WORDS[name]).replace("~", " ")
        return chosen[name].capitalize() if gap[1][0].isupper() else chosen[name]

    filled = _GAP.sub(fill, template)
    return filled if is_code else _BEFORE_VOWEL.sub(r"\1n ", filled)
