/* The files to be indexed: each is uploaded separately and has its own line, with its progress or its problem.
   `props.value` is the list of the uploads as JSON: the names that the server gave them. */
const zone = element.querySelector(".hg-drop");
const make = (tag, values, ...children) => {
  const made = Object.assign(document.createElement(tag), values);
  made.append(...children);
  return made;
};
const megabytes = (bytes) => Math.round(bytes / 1e6);
const kinds = zone.dataset.kinds.split(" "), most = Number(zone.dataset.most);
const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, key) => values[key]);
const reasons = {401: t.upload_401, 408: t.upload_408, 413: t.upload_413, 429: t.upload_429, 507: t.upload_507};
const input = make("input", {type: "file", multiple: true});
const about = fill(t.kinds_read, {kinds: kinds.map((each) => each.slice(1)).join(", "), size: megabytes(most)});
const list = make("ul", {className: "hg-file-list"});
list.setAttribute("aria-label", t.files);
list.setAttribute("aria-live", "polite");
zone.append(make("label", {}, input, make("b", {textContent: t.choose_files}), make("small", {textContent: about})), list);

let uploaded = new Map(), sending = Promise.resolve(), open = 0;  // line → the name that the server gave
const publish = () => { props.value = uploaded.size ? JSON.stringify([...uploaded.values()]) : ""; };
const say = (line, text, bad = false) => {
  line.querySelector("progress")?.remove();
  line.querySelector("span").textContent = text;
  line.classList.toggle("hg-bad", bad);
};

/* Text files of any type are accepted; a file with a zero byte near its start is not text. */
const reasonToRefuse = async (file) => {
  const suffix = (file.name.match(/\.[^.]+$/)?.[0] ?? "").toLowerCase();
  if (!file.size) return t.file_empty;
  if (file.size > most) return fill(t.file_too_large, {size: megabytes(most)});
  if (kinds.includes(suffix)) return "";
  const start = new Uint8Array(await file.slice(0, 4096).arrayBuffer());
  return start.includes(0) ? fill(t.file_unsupported, {kind: suffix || file.name}) : "";
};

const send = (file, line) => new Promise((done) => {
  const request = new XMLHttpRequest(), form = new FormData(), bar = line.querySelector("progress");
  const failed = (reason) => say(line, fill(t.file_failed, {reason}), true);
  form.append("files", file);
  request.upload.onprogress = ({loaded, total}) => { bar.max = total; bar.value = loaded; };
  request.onload = () => {
    let reply;
    try { reply = JSON.parse(request.responseText); } catch { reply = null; }
    if (request.status !== 200 || !Array.isArray(reply))
      return failed(reasons[request.status] ?? reply?.error?.message ?? reply?.detail ?? `HTTP ${request.status}`);
    if (!line.isConnected) return;
    uploaded.set(line, reply[0]);
    publish();
    say(line, t.file_ready);
  };
  request.onerror = () => failed(t.upload_lost);
  request.onloadend = done;
  request.open("POST", "gradio_api/upload");
  request.send(form);
});

const add = async (file) => {
  const bar = document.createElement("progress");
  bar.setAttribute("aria-label", file.name);
  const drop = make("button", {type: "button", textContent: "×"});
  drop.setAttribute("aria-label", fill(t.remove_file, {name: file.name}));
  const line = make("li", {}, make("b", {textContent: file.name}), make("span", {textContent: t.file_uploading}), bar, drop);
  drop.addEventListener("click", () => { line.remove(); uploaded.delete(line); publish(); input.focus(); });
  list.append(line);
  open += 1;
  const reason = await reasonToRefuse(file).catch((error) => fill(t.file_failed, {reason: error.message}));
  if (reason) say(line, reason, true); else sending = sending.then(() => line.isConnected && send(file, line));
  sending = sending.then(() => { open -= 1; });
};

/* A button that is pressed before all uploads have ended is pressed again once they have. */
document.addEventListener("click", (event) => {
  const button = event.target.closest("#hg-index, #hg-extend");
  if (!button || !open) return;
  event.stopImmediatePropagation();
  const press = () => { if (open) sending.then(press); else setTimeout(() => button.click(), 200); };
  press();
}, true);

input.addEventListener("change", () => { [...input.files].forEach(add); input.value = ""; });
for (const kind of ["dragenter", "dragover", "dragleave", "drop"])
  zone.addEventListener(kind, (event) => {
    event.preventDefault();
    zone.toggleAttribute("data-over", kind === "dragenter" || kind === "dragover");
  });
zone.addEventListener("drop", ({dataTransfer}) => { [...dataTransfer.files].forEach(add); });
watch("value", () => {
  if (props.value || !uploaded.size) return;  // the server has indexed them
  uploaded = new Map();
  list.replaceChildren();
});
