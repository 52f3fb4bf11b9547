"""An entailment check without weights: does the premise carry the statement's words?"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from hopgraph.tools.entailment.values import Values, read_values
from hopgraph.tools.text import DEFAULT_ANALYSER, split_sentences

_WORD = re.compile(r"[^\W_]+(?:['’.&-][^\W_]+)*")
_NEGATORS = frozenset("not no never none neither nor without cannot nobody nothing nowhere".split())
_FUNCTION = frozenset("""he him his she her hers they them their we us our you your i me my who whom whose which what when where why how
is was are were be been being am do does did done has have had having would shall should can could may might must its from over
after before during while also both all any some about than so such very just only even""".split())
NEGATION_REACH = 3
MONTHS="january february march april may june july august september october november december monday tuesday wednesday thursday friday saturday sunday".split()


@dataclass(frozen=True, slots=True)
class _Reading:
    terms: frozenset[str]
    names: tuple[str,...]
    negated: frozenset[str]
    values: Values


class LexicalEntailment:
    name: str = "lexical"
    threshold: float = 0.7

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [_probability(premise, statement) for premise, statement in pairs]


def fold(w):
    w=unicodedata.normalize("NFKD",w); w="".join(c for c in w if not unicodedata.combining(c)).casefold().replace("’","'").replace(".","")
    return w[:-2] if w.endswith("'s") else w.rstrip("'")

def words(text): return [m.group() for m in _WORD.finditer(text)]

@lru_cache(8192)
def premise_words(text):
    W=set()
    for w in words(text):
        f=fold(w); W.add(f)
        for p in re.split(r"[-'&]",f): W.add(p)
    return frozenset(W)
SUFF=("ians","ian","eans","ean","ans","an","ese","ish","ic","i","s","es")
def has_name(n,W,stems):
    f=fold(n)
    if f in W: return True
    ps=[p for p in re.split(r"[-'&]",f) if p]
    if all(p in W or DEFAULT_ANALYSER.term(p) in stems for p in ps): return True
    for s in SUFF:
        if f.endswith(s) and len(f)-len(s)>=4:
            b=f[:-len(s)]
            if any(w.startswith(b) for w in W): return True
    for w in W:
        for s in SUFF:
            if w.endswith(s) and len(w)-len(s)>=4 and f.startswith(w[:-len(s)]): return True
    return False
def names_of(text):
    out=[]
    for a,b in split_sentences(text):
        ws=words(text[a:b])
        for i,w in enumerate(ws):
            if w[0].isupper() and len(fold(w))>1 and DEFAULT_ANALYSER.term(w.lower()) and w.lower() not in _FUNCTION and w.lower() not in MONTHS:
                out.append((w, i==0))
    return out
def terms_of(text):
    return [t for t in (DEFAULT_ANALYSER.term(w) for w in DEFAULT_ANALYSER.words(text) if w not in _FUNCTION) if t]
@lru_cache(8192)
def stems_of(text): return frozenset(terms_of(text))
def negated(text):
    out=set()
    has=False
    for clause in re.split(r"[,;:.!?()]\s",text):
        ws=[w.lower().replace("’","'") for w in words(clause)]
        for i,w in enumerate(ws):
            if w in _NEGATORS or w.endswith("n't"):
                if w=="not" and i+1<len(ws) and ws[i+1]=="only": continue
                has=True
                k=0
                for x in ws[i+1:]:
                    t=DEFAULT_ANALYSER.term(x)
                    if t and x not in _FUNCTION: out.add(t); k+=1
                    if k==NEGATION_REACH: break
    return has,out
def premise_sentences(premise):
    for block in premise.split("\n"):
        for a,b in split_sentences(block): yield block[a:b]

def analyse(premise,statement):
    st=list(dict.fromkeys(terms_of(statement))); ps=stems_of(premise); W=premise_words(premise)
    cov=sum(t in ps for t in st)/len(st) if st else 0
    nm=names_of(statement)
    miss=[n for n,first in nm if not has_name(n,W,ps)]
    missfirst=[n for n,first in nm if first and n in miss]
    val=read_values(statement).missing_from(read_values(premise))
    sents=list(premise_sentences(premise))
    best=max(sents,key=lambda s:len(stems_of(s)&set(st)),default="")
    loc=sum(t in stems_of(best) for t in st)/len(st) if st else 0
    h1,n1=negated(statement); h2,n2=negated(best)
    # negation: terms negated on one side but affirmed on other
    neg = (h1 and not h2) or bool(n2 & set(st) - n1) if (h1 or h2) else False
    return dict(cov=cov,loc=loc,miss=len(set(miss)-set(missfirst)),missfirst=len(missfirst),val=val,neg=neg,nm=miss,best=best)
def more(premise,statement):
    from hopgraph.tools.rerankers.common_words import COMMON_WORDS
    from hopgraph.tools.rerankers.lexical import _stems
    C=_stems(COMMON_WORDS)
    tw={}
    for w in DEFAULT_ANALYSER.words(statement):
        if w in _FUNCTION: continue
        t=DEFAULT_ANALYSER.term(w)
        if t: tw[t]=(.6 if t in C else 1)*(.4+.6*min(len(w),10)/10)
    ps=stems_of(premise); tot=sum(tw.values())
    wc=sum(w for t,w in tw.items() if t in ps)/tot if tot else 0
    ss=[stems_of(x) for x in premise_sentences(premise)]
    pl=max((sum(w for t,w in tw.items() if t in s)/tot for s in ss),default=0) if tot else 0
    l2=max((sum(w for t,w in tw.items() if t in a|b)/tot for a,b in zip(ss,ss[1:])),default=pl) if tot else 0
    # prefix match
    pre=sum(w for t,w in tw.items() if t in ps or (len(t)>=5 and any(x.startswith(t[:5]) for x in ps)))/tot if tot else 0
    return dict(wc=wc,pl=pl,l2=l2,pre=pre)
def _probability(premise,statement):
    f=analyse(premise,statement)
    return 0.0 if f["miss"] or f["val"] or f["neg"] else f["cov"]
