"""Write the answer as a full sentence with marks: the last step of every method with `answer_type="sentence"`."""

from collections.abc import Mapping, Sequence

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import Ask, ask, calls_of
from hopgraph.nodes.core.marked_text import append_marks, settle_marks, split_at_marks
from hopgraph.nodes.core.message_stream import AnswerStream
from hopgraph.nodes.core.reply_text import ReplyModel, ShortText
from hopgraph.state import Call, Citation, Context, MethodState
from hopgraph.state.context import SENTENCE_STEP
from hopgraph.tools.prompts import Value


class SentenceReply(ReplyModel):
    """A reply of the role `write_sentence`."""

    answer: ShortText


async def write_sentence(
    state: MethodState, runtime: Runtime[Context], citations: Sequence[Citation]
) -> tuple[str, Mapping[str, Call]]:
    """Ask for a sentence that says the short answer, with the numbers of the citations that carry it.

    The sentence goes to LangGraph's `messages` stream while it is written. Without a usable reply it is the short
    answer with a mark for each citation. The call is given, too.
    """
    settings, short = runtime.context, state["answer"]
    variables: dict[str, Value] = {"question": state["question"], "short_answer": short}
    if citations:
        variables["passages"] = [{"title": each["title"], "text": each["quote"]} for each in citations]
    if settings.answer_style:
        variables["style"] = settings.answer_style
    stream = AnswerStream.if_wanted("answer", len(citations))
    wanted = Ask(
        SENTENCE_STEP, variables, SentenceReply, SentenceReply(answer=""), on_reply=stream.feed if stream else None
    )
    answered = await ask(runtime, state, wanted)
    sentence = settle_marks(answered.record.answer, len(citations)) or short
    if len(split_at_marks(sentence, len(citations))) == 1:
        sentence = append_marks(sentence, len(citations))
    if stream:
        stream.end(sentence)
    return sentence, calls_of([answered])
