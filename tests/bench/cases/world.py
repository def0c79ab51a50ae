"""The outside world sees one effect under a key, or can tell the repeats."""

from bench.checks.world import effect_once
from tests.bench.cases import sane, wrong
from tests.bench.histories import Run

a, b, c = Run(1, "A"), Run(2, "B"), Run(3, "C")

CASES = [
    sane(effect_once, "a repeat that the world knows", [a.effect("mail", "k"), b.effect("mail", "k")]),
    sane(effect_once, "and knows again", [a.effect("mail", "k"), b.effect("mail", "k"), c.effect("mail", "k")]),
    sane(effect_once, "two effects of one job", [a.effect("mail", "k"), a.effect("invoice", "k")]),
    wrong(
        effect_once,
        "made again under another key",
        [a.effect("mail", "k/1"), b.effect("mail", "k/2")],
        ("effect-twice", 1, 2),
    ),
    wrong(effect_once, "made again under no key", [a.effect("mail", "k"), b.effect("mail")], ("effect-twice", 1, 2)),
    wrong(effect_once, "the first had no key", [a.effect("mail"), b.effect("mail", "k")], ("effect-twice", 1, 2)),
    wrong(
        effect_once,
        "two keys, and then a repeat of the second",
        [a.effect("mail", "k/1"), b.effect("mail", "k/2"), c.effect("mail", "k/2")],
        ("effect-twice", 1, 2),
    ),
    wrong(
        effect_once,
        "a key that came with another effect",
        [a.effect("invoice", "k"), a.effect("mail", "l"), b.effect("mail", "k")],
        ("effect-twice", 2, 3),
    ),
]
