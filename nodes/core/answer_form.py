"""The form of answer that a question asks for: a fact or a text."""

import re

_BEGINS = r"(?:\A|[.!?:;,]\s+|\b(?:please|bitte|and|then|(?:can|could|would) you|me|us)\s+)"
"""Where a request begins, as most do with their verb."""
_FULL = re.compile(
    rf"""
    {_BEGINS}(?:compare|contrast|define|describe|discuss|draft|elaborate|enumerate|explain|list|name\ all|outline
      |sketch|tell\ me\ (?:more\ )?about|write|nenne|liste|schreib\w*|décri\w+|cite\w*|enumera)\b
    | \b(?:summar(?:y|i[sz]\w*)|overview|explanation|comparison|bullet(?:\ ?points?)?|steps\ (?:to|for|of)
      |step[- ]by[- ]step|pros\ and\ cons|advantages\ and|differences?\ between|(?:in|as)\ a\ (?:table|list)
      |in\ detail)\b
    | \b(?:zusammenfass\w*|fass\w*\b.*\bzusammen|erkl[äa]r\w*|erl[äa]uter\w*|beschreib\w*|vergleich\w*|unterschiede?
      |überblick|übersicht|als\ (?:liste|tabelle)|stichpunkt\w*|schritt(?:e|\ für\ schritt)|vor-\ und\ nachteile
      |warum|wieso|weshalb)\b
    | \b(?:résum\w+|expliqu\w+|compare[rz]?|comparaison|différences?|aperçu|sous\ forme\ de|étapes?|pourquoi|comment)\b
    | \b(?:resum\w+|explic\w+|explique|describa\w*|descríb\w+|compar[ae]\w*|diferencias?|en\ una\ (?:lista|tabla)|pasos
      |por\ qué|cómo)\b
    | \A(?:\W*\w+,?\s+)?why\b
    | {_BEGINS}how\ (?:am|are|can|could|did|do|does|is|may|must|should|to|was|were|will|would)\b
    | \bwie\ (?:be|er|funktioniert|geht|kann|kommt|macht?e?|muss|soll|stell|wird|werden)\w*\b
    | \Awhat\ (?:are|were)\ (?:the|our|my|all)\ (?:\w+\ )?(?:benefits|conditions|options|policies|procedures|reasons
      |requirements|rules|steps)\b
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)


def asks_for_text(question: str) -> bool:
    """Return whether a question asks for an explanation, a summary, a comparison, a list or steps, not for a fact.

    By words of English, German, French and Spanish: the same question is read alike at every endpoint and with every
    model, at no cost, and people can foresee it. Where it is wrong, `answer_type` says what is wanted.
    """
    return _FULL.search(question) is not None
