"use strict";
// Dialogs: forms whose action is previewed first, with the command line that does the same.

function openDialog(title, content, { isLarge } = {}) {
  const heading = h("h2", { id: "dialog-title", tabindex: "-1" }, title);
  const dialog = h("dialog", { class: isLarge ? "large" : null, "aria-labelledby": "dialog-title" },
    h("div", { class: "heading" }, heading,
      h("button", { type: "button", class: "quiet", "aria-label": "Close", onclick: () => dialog.close() }, "Close")),
    content);
  const before = document.activeElement;
  const key = before && before.dataset ? before.dataset.key : undefined;
  dialog.addEventListener("close", () => {
    dialog.remove();
    const again = before && before.isConnected ? before : key === undefined ? null : document.querySelector(`tr[data-key="${CSS.escape(key)}"]`);
    if (again) again.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
  (dialog.querySelector("[autofocus], form input, form select, form textarea") || heading).focus();
  return dialog;
}

// A form whose action is asked for twice: without `confirm` for its preview, then with it. `body` makes the request, or
// throws an Error with a sentence for the user.
function openAction(title, { where, fields, body, button, isDanger, typedName, done }) {
  const preview = h("div", { "aria-live": "polite" });
  const typed = typedName === undefined ? null : h("input", { autocomplete: "off", spellcheck: "false", class: "wide" });
  const doIt = h("button", { type: "button", class: `main ${isDanger ? "danger" : ""}`, disabled: true }, button);
  let shown = null;
  const stale = () => {
    shown = null;
    doIt.disabled = true;
  };
  const allow = () => { doIt.disabled = shown === null || (typed && typed.value !== typedName); };
  const failed = (error) => put(preview, note(error.message, "bad"));
  const look = async () => {
    stale();
    try {
      const request = body();
      const found = await tell(where(), request);
      shown = request;
      put(preview, h("h3", {}, "What happens"), h("ul", { class: "lines" }, found.preview.map((line) => h("li", {}, line))),
        found.warnings.map((line) => note(line, "warn")), h("h3", {}, "The same as a command line"), commandLine(found.command),
        typed ? h("div", { class: "field" }, field(`Type the name ${typedName} to allow this`, typed)) : []);
      if (typed) typed.focus();
    } catch (error) {
      failed(error);
    }
    allow();
  };
  if (typed) typed.addEventListener("input", allow);
  doIt.addEventListener("click", async () => {
    doIt.disabled = true;
    try {
      const found = await tell(where(), { ...shown, ...(typed ? { name: typed.value } : {}), confirm: true });
      announce(found.done);
      dialog.close();
      toast(found.done);
      done(found);
    } catch (error) {
      failed(error);
      allow();
    }
  });
  const form = h("form", { onsubmit: (event) => { event.preventDefault(); look(); }, oninput: (event) => { if (event.target !== typed) stale(); } },
    fields, h("div", { class: "actions" }, fields.length ? h("button", { type: "submit" }, "Preview") : null));
  const dialog = openDialog(title, [form, preview, h("div", { class: "actions" },
    h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"), doIt)]);
  if (!fields.length) look();
  return dialog;
}

// Says what was done, in a corner, until it is closed or ten seconds are over.
function toast(text) {
  const place = document.getElementById("toast");
  const made = note(text, "good");
  made.append(h("button", { type: "button", class: "quiet", "aria-label": "Close the message", onclick: () => made.remove() }, "Close"));
  put(place, made);
  setTimeout(() => made.remove(), 10000);
}

// A pair of controls for bytes: how they are written, and the text.
function bytesField(name, data) {
  const text = h("textarea", { spellcheck: "false" });
  const kind = choice([["text", "text"], ["hex", "hex"], ["null", "null"]], data.kind);
  text.value = data.text;
  const follow = () => { text.hidden = kind.value === "null"; };
  kind.addEventListener("change", follow);
  follow();
  return {
    element: h("div", {}, field(`${name} as`, kind), field(name, text)),
    body: () => ({ [name.toLowerCase()]: text.value, [`${name.toLowerCase()}Kind`]: kind.value }),
  };
}

function lines(text) {
  return text.split("\n").map((line) => line.trim()).filter(Boolean);
}
