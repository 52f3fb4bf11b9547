"""Invented names, composed by rule from syllables written for this project, so that no list of real names is needed."""

import hashlib
import re
from collections.abc import Iterator
from itertools import count
from typing import Literal

from hopgraph.tools.apps.evaluation.named_titles import words_of

NameKind = Literal["female", "male", "given", "surname", "place", "title"]

_SYLLABLES: dict[str, tuple[str, str]] = {
    "female": (
        "Al Am Bel Bri Cal Cor Dar Del El Em Fen Flo Gal Gwen Hal Hel Il Ir Jel Jo Kar Kel Lar Lin Mar Mel Nad Nel "
        "Or Ot Pel Per Quin Ral Ros Sal Ser Tal Ther Ul Val Ver Wil Win Yel Zar",
        "adra aneth arisa avie elda elise ella enna etta ianne ibeth icia idra ilde ina inda iora issa itha ola ona "
        "ora osia unda ursa wyn ynne",
    ),
    "male": (
        "Al Ald Bar Bram Cad Cor Dar Dun Ed El Fer Fin Gar Ger Had Har Im Jar Jor Kad Kel Lan Lor Mar Mer Nor Od Or "
        "Pal Per Quil Rad Ror Sel Ser Tal Tor Ul Var Ver Wal Wen Yor Zan",
        "an and ard aric bert den dric el emar en ent eric ett gar ian ic im in ion lan mond mund nard nor old on or "
        "ric ton vin win",
    ),
    "surname": (
        "Ack Ald Ash Bar Bel Birch Black Brack Bram Cald Car Chal Clay Col Crick Dal Den Dray Dun Elm Fal Far Fen "
        "Fern Gar Glen Gran Hales Har Hawk Hazel Hol Hux Ing Kel Ken Kirk Lam Lang Lath Lin Lock Mal Mar Mer Mil Nor "
        "Oak Or Pem Pen Quar Rad Red Roth Row Sel Shel Stan Sut Tam Thorn Tre Up Vin Wad War Wex Whit Win Wool Yar",
        "ber bourne brook by combe cott cross den don ell er ers fell field ford gate ham hurst ing kin land ley low "
        "man mere more ning rick ridge row sby shaw side stead ston ter ton vale ward way well wick wood worth",
    ),
    "place": (
        "Ab Ald Ar Bal Bel Ber Bor Bran Cal Car Cor Cres Dal Dor Dras El Es Fal Fen Gal Gor Hal Hol Il Is Jar Kal "
        "Kel Kor Lor Lun Mal Mar Mol Mor Nar Nor Ol Or Ost Pel Por Quel Ral Ros Sal Sel Tal Tol Tor Ul Val Vel Ver "
        "Vor Wes Yar Zel",
        "adan aden adia aga agne ak alen amar ana and anth ara ard aria avia bury by den dor ea eld en enia eport "
        "era esk eth ford gard grad ham haven holm ia ica ille ina ira is land lin mar mere mont mouth nia oria orn "
        "ova port stad stow ton una ur vale via vik ville wick",
    ),
}
"""Beginnings and ends of names, by kind."""
_PARTS = {kind: (words_of(beginnings), words_of(ends)) for kind, (beginnings, ends) in _SYLLABLES.items()}
_TITLE_WORDS = words_of(
    "Amber Anchor Apple Arrow Autumn Beacon Birch Blossom Bramble Candle Canyon Carnival Cedar Cinder Clover Cobalt "
    "Copper Coral Cradle Crimson Crystal Dagger Dawn Distant Dust Echo Ember Ebony Falcon Feather Fern Fever Flint "
    "Fragile Frost Gallows Garnet Ginger Glass Gilded Granite Hollow Harbour Harvest Hazel Heather Heron Hidden "
    "Hourglass Hunger Indigo Iron Ivory Jasmine Juniper Kestrel Kindling Lantern Lavender Ledger Lilac Linen Lonely "
    "Lotus Marble Marigold Meadow Mercury Mirror Mist Mosaic Nectar Nettle Nimble Oak Obsidian Olive Opal Orchard "
    "Orchid Paper Pebble Pepper Pilgrim Plum Poplar Porcelain Prism Quarry Quartz Quiet Quill Raven Reed Restless "
    "Ribbon Riddle Rust Saffron Sapphire Scarlet Shallow Silent Silver Slate Smoke Sparrow Spindle Splinter Stolen "
    "Sugar Summer Swallow Tangled Tempest Thimble Thistle Thorn Thunder Timber Topaz Twilight Umber Velvet Verdant "
    "Violet Walnut Wander Weary Whisper Wicked Willow Winter Wistful Yonder Zephyr"
)
_GERUNDS = words_of(
    "Breaking Burning Calling Chasing Crossing Dreaming Drifting Fading Falling Gathering Leaving Mending Rising "
    "Sailing Searching Shining Turning Waiting Wandering Whispering"
)
_PARTICIPLES = words_of(
    "Borrowed Buried Crowned Divided Faded Gilded Haunted Mended Painted Scattered Shattered Tangled Unlocked "
    "Vanished Wounded"
)
_MIDDLES = ("a", "ar", "el", "en", "er", "il", "in", "or", "un")


def candidate_names(kind: NameKind, old: str, seed: int) -> Iterator[str]:
    """Suggest new words for one, without end: plausible ones first, then longer ones.

    The same kind, word and seed always give the same words in the same order. A title word keeps the old one's
    ending: -s, -ing, -ed.
    """
    for number in count():
        draw = int.from_bytes(hashlib.blake2b(f"{seed}:{kind}:{old}:{number}".encode(), digest_size=8).digest())
        yield _title_word(old, draw, number) if kind == "title" else _name(kind, draw, number)


def _name(kind: NameKind, draw: int, number: int) -> str:
    if kind == "given":
        draw, other = divmod(draw, 2)
        kind = "female" if other else "male"
    beginnings, ends = _PARTS[kind]
    draw, first = divmod(draw, len(beginnings))
    draw, last = divmod(draw, len(ends))
    middle = ""
    for _ in range(number // 12):  # nearly all plain ones are taken
        draw, part = divmod(draw, len(_MIDDLES))
        middle += _MIDDLES[part]
    return re.sub(r"(.)\1\1+", r"\1\1", beginnings[first] + middle + ends[last])  # no three equal letters in a row


def _title_word(old: str, draw: int, number: int) -> str:
    folded = old.casefold()
    long = len(folded) > 5
    words = _GERUNDS if long and folded.endswith("ing") else _PARTICIPLES if long and folded.endswith("ed") else None
    if words and number < 12:
        return words[draw % len(words)]
    draw, first = divmod(draw, len(_TITLE_WORDS))
    word = _TITLE_WORDS[first]
    if number >= 12:
        word += _TITLE_WORDS[draw % len(_TITLE_WORDS)].lower()
    if folded.endswith("s") and not folded.endswith("ss"):
        return word + ("es" if word.endswith(("s", "x", "z", "ch", "sh")) else "s")
    return word
