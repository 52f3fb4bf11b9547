const talk = document.getElementById("hg-talk");

/* Keep parts of a turn folded or unfolded while steps arrive, and when another turn follows.
   Parts are identified by turn and position, because elements are reused for other turns. */
{
const folds = new Map();
const eachFold = (turn, act) => turn.querySelectorAll("details").forEach(
  (part, at) => act(part, `${turn.dataset.turn} ${at}`));
talk.addEventListener("click", ({target}) => {
  const part = target.closest("summary")?.parentElement, turn = part?.closest(".hg-turn");
  if (turn) eachFold(turn, (each, key) => { if (each === part) folds.set(key, !part.open); });
});
new MutationObserver(() => talk.querySelectorAll(".hg-turn").forEach((turn) => eachFold(turn, (part, key) => {
  if (folds.has(key) && part.open !== folds.get(key)) part.open = folds.get(key);
}))).observe(talk, {subtree: true, childList: true, attributes: true, attributeFilter: ["open", "data-turn"]});
}

/* Scroll a new turn, or a thread that is opened, to its end, and follow the end while the turn grows, until the user
   scrolls up or unfolds something; resume at the end. A review is shown from its start. */
{
let follows = true, top = 0, shown = "";
const left = () => talk.scrollHeight - talk.clientHeight - talk.scrollTop;
const follow = () => {
  if (!follows) return;
  const review = talk.querySelector(".hg-review");
  const start = review ? review.getBoundingClientRect().top - talk.getBoundingClientRect().top - 8 : left();
  talk.scrollTop += Math.min(left(), start);
  top = talk.scrollTop;
};
talk.addEventListener("scroll", () => {
  follows = talk.scrollTop < top ? left() < 2 : follows || left() < 40;
  top = talk.scrollTop;
});
talk.addEventListener("click", ({target}) => { if (target.closest("summary")) follows = false; });
talk.addEventListener("toggle", () => { follows ||= left() < 40; }, true);
new MutationObserver(() => {
  const now = [...element.children].map((each) => each.dataset.turn || each.className).join();
  follows ||= now !== shown;
  shown = now;
  follow();
}).observe(talk, {subtree: true, childList: true, characterData: true, attributes: true,
  attributeFilter: ["data-turn"]});
const sizes = new ResizeObserver(follow);
for (const each of [talk, ...talk.children]) sizes.observe(each);
}

/* On a narrow screen the side columns are shown one at a time, over the conversation. Choosing something there closes
   them, and so does Escape, unless it closes something else. */
{
const show = (side) => { document.getElementById("hg-columns").dataset.shown = side; };
document.addEventListener("click", ({target}) => {
  const toggle = target.closest("#hg-top .hg-toggle");
  if (target.closest("#hg-new")) show("");
  if (!toggle) return;
  const side = toggle === document.querySelector("#hg-top .hg-toggle") ? "left" : "right";
  show(document.getElementById("hg-columns").dataset.shown === side ? "" : side);
});
document.addEventListener("change", ({target}) => { if (target.matches(".hg-threads [type=radio]")) show(""); });
document.addEventListener("keydown", ({key, target}) => {
  const columns = document.getElementById("hg-columns"), side = columns?.dataset.shown;
  if (key !== "Escape" || !side || target.getAttribute?.("aria-expanded") === "true") return;
  if (document.querySelector(":popover-open")) return;
  show("");
  document.querySelectorAll("#hg-top .hg-toggle")[side === "left" ? 0 : 1].focus();
}, true);
}

/* Each conversation has a URL; going back in the browser opens the previous one. */
{
const param = (url) => new URL(url).searchParams.get("conversation") ?? "";
let shown = null, seen = "", asked = 0, going = null;
// One at a time: Gradio may apply the answers to two events in either order.
const go = () => { going = param(location); trigger("select", {thread: going, asked: ++asked}); };
new MutationObserver(() => {
  const mark = document.querySelector("#hg-earlier [data-thread]"), before = seen, wanted = going;
  if (!mark) return;
  const {thread, answers} = mark.dataset;
  seen = `${thread} ${answers}`;
  if (seen === before || answers && answers < asked) return;  // Gradio applied an earlier answer again
  going = null;
  if (answers && wanted !== null && wanted !== param(location)) return go();  // the browser has moved on meanwhile
  if (thread === shown) return;
  const url = new URL(location), first = shown === null;
  shown = thread;
  if (thread === param(url)) return;
  if (thread) url.searchParams.set("conversation", thread); else url.searchParams.delete("conversation");
  history[first ? "replaceState" : "pushState"](null, "", url);
}).observe(document.getElementById("hg-earlier"), {subtree: true, childList: true, attributes: true});
addEventListener("popstate", () => { if (going === null) go(); });
}

/* The conversations are one group for the keyboard: one tab stop, with the arrow keys moving through it. */
{
new MutationObserver(() => {
  for (const each of document.querySelectorAll(".hg-threads input[type=radio]"))
    if (each.name !== "hg-thread") each.name = "hg-thread";
}).observe(document.getElementById("hg-left"), {subtree: true, childList: true, attributeFilter: ["name"]});
}

/* The buttons below a turn, and the example questions. */
{
const write = (text) => {
  const field = document.querySelector("#hg-box textarea");
  field.value = text;
  field.dispatchEvent(new Event("input", {bubbles: true}));
  field.focus();
};
const ask = (text) => {
  write(text);
  setTimeout(() => document.getElementById("hg-send")?.click(), 200);  // after Gradio has read the box
};
const make = (tag, values) => Object.assign(document.createElement(tag), values);
/* Edit a question in place: Enter saves and asks it, which removes the turns after it; Escape cancels. */
const edit = (turn) => {
  const question = turn.querySelector(".hg-question"), form = make("form", {className: "hg-edit"});
  if (question.hidden) return;
  const field = make("textarea", {value: question.textContent, rows: 2});
  field.setAttribute("aria-label", t.edit_question);
  const cancel = make("button", {type: "button", textContent: t.cancel});
  form.append(field, make("button", {textContent: t.save_and_ask}), cancel);
  const close = () => { form.remove(); question.hidden = false; turn.querySelector("[data-act=edit]")?.focus(); };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!field.value.trim()) return;
    trigger("edit", {turn: turn.dataset.turn, text: field.value});
    close();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target === field && !event.shiftKey) { event.preventDefault(); form.requestSubmit(); }
    if (event.key === "Escape") close();
  });
  cancel.addEventListener("click", close);
  question.hidden = true;
  question.after(form);
  field.focus();
};
const copy = async (button) => {
  await navigator.clipboard?.writeText(button.dataset.text);
  const label = button.textContent;
  button.textContent = navigator.clipboard ? t.copied : t.only_https;
  setTimeout(() => { button.textContent = label; }, 1500);
};
/* A rating may be explained in a comment. */
const comment = (turn, feedback) => {
  turn.querySelector(".hg-comment")?.remove();
  if (!feedback) return;
  const form = make("form", {className: "hg-edit hg-comment"});
  const field = make("input", {maxLength: 2000, placeholder: t.comment});
  field.setAttribute("aria-label", t.comment);
  form.append(field, make("button", {textContent: t.send_comment}));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!field.value.trim()) return;
    trigger("like", {turn: turn.dataset.turn, feedback, comment: field.value});
    form.replaceWith(make("p", {className: "hg-comment", role: "status", textContent: t.comment_sent}));
  });
  turn.querySelector(".hg-actions").after(form);
};
const rate = (button, turn) => {
  const on = button.getAttribute("aria-pressed") !== "true";
  for (const each of turn.querySelectorAll("[data-act=rate]"))
    each.setAttribute("aria-pressed", String(on && each === button));
  trigger("like", {turn: turn.dataset.turn, feedback: on ? button.dataset.value : ""});
  comment(turn, on ? button.dataset.value : "");
};
talk.addEventListener("click", ({target}) => {
  const button = target.closest("button[data-act]"), turn = button?.closest(".hg-turn");
  if (!button) return;
  const acts = {
    ask: () => ask(button.textContent),
    again: () => ask(turn.querySelector(".hg-question").textContent),
    edit: () => edit(turn),
    copy: () => copy(button),
    rate: () => rate(button, turn),
    resume: () => trigger("submit"),
  };
  if (button.dataset.act === "copy" || button.dataset.act === "rate" || !document.querySelector(".hg-running"))
    acts[button.dataset.act]();
});
}

/* The selected conversation has a menu to rename, export or delete it. */
{
const side = document.getElementById("hg-left");
const more = Object.assign(document.createElement("button"), {type: "button", className: "hg-more", textContent: "⋯"});
more.setAttribute("aria-label", t.manage);
const fold = (open) => {
  side.toggleAttribute("data-managing", open);
  more.setAttribute("aria-expanded", String(open));
};
fold(false);
more.addEventListener("click", (event) => {
  event.preventDefault();
  fold(!side.hasAttribute("data-managing"));
  side.querySelector(".hg-manage input")?.focus();
});
side.addEventListener("click", ({target}) => { if (target.closest(".hg-done, #hg-new")) fold(false); });
side.addEventListener("keydown", ({key, target}) => {
  if (key === "Escape" || (key === "Enter" && target.matches(".hg-manage input"))) fold(false);
});
side.addEventListener("change", ({target}) => { if (target.matches("[type=radio]")) fold(false); });
new MutationObserver(() => {
  const row = side.querySelector(".hg-threads label.selected");
  if (row && more.parentElement !== row.parentElement) row.after(more);
  else if (row && more.previousElementSibling !== row) row.after(more);
  if (!row) more.remove();
}).observe(side, {subtree: true, childList: true, attributes: true, attributeFilter: ["class"]});
}
