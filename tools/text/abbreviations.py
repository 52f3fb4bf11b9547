"""English abbreviations and sentence openers: what Punkt would otherwise learn from a large corpus.

All in lower case, abbreviations without their last period, as Punkt keeps its word types. Single letters
are missing on purpose (Punkt knows initials by their shape), and so are abbreviations that are words.
"""


def _words(*lists: str) -> frozenset[str]:
    return frozenset(word for words in lists for word in words.split())


TITLES = _words(
    "adm amb asst atty brig capt cardl cdr cmdr col cpl cpt dr fr gen gov hon lt maj messrs mgr mlle mm",
    "mme mr mrs ms mx pfc ph pres prof pvt rep reps rev rt sen sens sgt supt treas",
)
"""Stand before a name, so they never end a sentence."""

CONNECTIVES = _words("approx ca cf circa e.g eg esp i.e ie incl v viz vs")
"""Stand before what they introduce, so they never end a sentence."""

MAY_END = _words(
    # parts of a text, measures
    "nr vol vols pp pts figs chap sect ed eds trans repr oz lb lbs ft hr hrs hp km kg mph sq yd yds cu avg",
    "temp est dept div dist",
    # months and days
    "jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri",
    # companies and institutions
    "inc ltd corp co cos bros llc plc pty assn assoc univ inst intl natl mfg acad bd comm dev s.a s.p.a",
    "n.v b.v g.m.b.h gmbh l.p l.l.c p.l.c",
    # after names
    "jr sr esq ph.d phd m.d b.a m.a b.s b.sc m.sc m.b.a ll.b ll.m ll.d d.d.s r.n o.b.e c.b.e m.b.e k.c.b",
    "m.p q.c b.f.a m.f.a b.ed m.phil d.phil ed.d j.d ret",
    # countries, states, cities
    "u.s u.k u.n e.u u.s.a u.s.s.r d.c n.y n.y.c l.a n.j n.c s.c n.d s.d n.m r.i n.h w.va n.s.w ala ariz",
    "ark calif colo conn fla ga kan ky md mich minn mont neb nev okla ore pa penn tenn tex va vt wis wyo",
    "ont que qld vic",
    # streets and places
    "st ste ave blvd rd hwy pkwy bldg apt mt mts isl jct twp",
    # dates and times
    "a.m p.m a.d b.c b.c.e c.e a.k.a aka fl",
    # Latin and bibliography
    "etc et al ibid seq q.v n.b p.s loc cit illus anon ref",
    # music, sports, services
    "feat arr orch dir prod r.e.m n.w.a d.j m.c t.v u.s.s h.m.s s.s r.a.f u.s.a.f u.s.m.c f.b.i c.i.a",
)
"""May end a sentence: they do before a word of OPENERS."""

BEFORE_NUMBERS = _words("no nos art ch fig max min op para pt sec")
"""Abbreviations before a number, words elsewhere: “No. 5”, but “He said no.”"""

OPENERS = _words(
    "the he she it they we i you this that these those his her its their our my there here a an in on at",
    "as by for from with after before during since until while when where who what which how why although",
    "though however if because despite unlike according among under over through throughout between but",
    "and or nor so yet then thus therefore hence also additionally furthermore moreover nevertheless",
    "instead some many most several all both each other another such few one two three later following",
    "originally currently initially eventually finally subsequently today now early once not no to of",
)
"""Words that open a sentence when they are capitalised after an abbreviation or an initial."""
