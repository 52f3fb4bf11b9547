"""Everything a prompt gives, read as one body of evidence: passages, statements, earlier questions and answers."""

from dataclasses import dataclass

from hopgraph.tools.models.offline.passage_reading import Sentence, sentences
from hopgraph.tools.models.offline.prompt_blocks import Prompt
from hopgraph.tools.models.offline.query_writing import next_queries
from hopgraph.tools.models.offline.reader import Finding, Reader
from hopgraph.tools.models.offline.statements import Statement, read
from hopgraph.tools.models.offline.terms import key


@dataclass(frozen=True)
class PromptReading:
    """What a prompt comes to."""

    question: str
    """The question with the names that earlier answers gave."""
    shown: list[Sentence]
    """The sentences of the passages, the first of the numbered statements."""
    reader: Reader
    found: Finding

    @property
    def cited(self) -> list[Sentence]:
        """The shown sentences that the answer rests on."""
        return [self.shown[number - 1] for number in self.found.used if number <= len(self.shown)]

    @property
    def answer(self) -> str:
        """The answer as far as it can be given: without texts to read only a sure one."""
        return self.found.text if self.found.enough or self.reader.statements else ""

    def quotes(self) -> str:
        """Return the statements that the answer rests on, as one text."""
        return " ".join(s.text for number in self.found.used for s in self.reader.statements if s.number == number)

    def queries(self, asked: list[str], missing: str = "") -> list[str]:
        """Return queries for what is missing, best first; may be empty."""
        return next_queries(self.reader.graph(self.question), asked, missing or self.found.missing_text)


def read_evidence(prompt: Prompt) -> PromptReading:
    """Read a prompt: statements are numbered, the passages' sentences first."""
    known: dict[str, str] = {}
    for _, line in [*prompt.items("history"), *prompt.items("sub_answers")]:
        asked, _, rest = line.partition("? ")
        answer = rest.partition(" (source: ")[0]
        known[key(asked)] = "" if answer == "unknown" or not key(answer) else answer
    shown = sentences(prompt.passages)
    items = [text for name in ("information", "assertions") for _, text in prompt.items(name)]
    texts = [*(s.info for s in shown), *items]
    statements: list[Statement] = [
        read(number, text) for number, text in enumerate(texts, start=1) if text not in texts[: number - 1]
    ]
    reader = Reader(statements, known)
    question = reader.resolve(prompt.question)
    found = reader.find(question, "yes_no" in prompt.blocks.get("answer_type", ""))
    return PromptReading(question, shown, reader, found)
