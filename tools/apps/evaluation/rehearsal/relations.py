"""Questions for the relations of Wikidata, as people would ask them."""

_QUESTIONS = {
    "author": "Who is the author of {}?",
    "award received": "Which award did {} receive?",
    "capital": "What is the capital of {}?",
    "cause of death": "What was the cause of death of {}?",
    "child": "Who is a child of {}?",
    "composer": "Who is the composer of {}?",
    "country": "In which country is {}?",
    "country of citizenship": "Of which country is {} a citizen?",
    "country of origin": "From which country is {}?",
    "date of birth": "When was {} born?",
    "date of death": "When did {} die?",
    "director": "Who is the director of {}?",
    "doctoral advisor": "Who was the doctoral advisor of {}?",
    "educated at": "Where was {} educated?",
    "employer": "Who employed {}?",
    "father": "Who is the father of {}?",
    "founded by": "Who founded {}?",
    "headquarters location": "Where are the headquarters of {}?",
    "inception": "When was {} founded?",
    "instance of": "What is {}?",
    "located in or next to body of water": "By which body of water is {}?",
    "located in the administrative territorial entity": "In which county, district, state or province is {} located?",
    "manufacturer": "Who is the manufacturer of {}?",
    "member of": "Of what is {} a member?",
    "member of political party": "Of which political party is {} a member?",
    "mother": "Who is the mother of {}?",
    "native language": "What is the native language of {}?",
    "original network": "On which network was {} broadcast first?",
    "part of": "What is {} a part of?",
    "performer": "Who is the performer of {}?",
    "place of birth": "Where was {} born?",
    "place of burial": "Where is {} buried?",
    "place of death": "Where did {} die?",
    "producer": "Who is the producer of {}?",
    "publication date": "When was {} published or released?",
    "publisher": "Who is the publisher of {}?",
    "record label": "On which record label is {}?",
    "sibling": "Who is a sibling of {}?",
    "sport": "Which sport is that of {}?",
    "spouse": "Who is the spouse of {}?",
}


def question_about(subject: str, relation: str) -> str:
    """Return a question for a relation of a subject; one that is not listed is asked for by its name."""
    template = _QUESTIONS.get(relation.strip().lower(), f"What is the {relation.strip()} of {{}}?")
    return template.replace("{}", subject.strip())
