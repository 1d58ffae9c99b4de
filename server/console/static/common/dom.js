// Elements are built from data and never from text that holds markup.

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.flat(2).filter((child) => child !== null && child !== undefined));
  return made;
}

export function byId(id) {
  return document.getElementById(id);
}

export function show(target, shown) {
  target.hidden = !shown;
}

export function quiet(words, onclick, more = {}) {
  return element("button", { type: "button", class: "quiet", onclick, ...more }, words);
}

// Close something on Escape or on a click or focus elsewhere; returns a function that stops listening. Elements that
// unfold by themselves are listened to always, since their event arrives later than a quick key.
export function dismissed(shown, close, { also = [], isOpen = () => true } = {}) {
  const outside = (event) => { if (isOpen() && ![shown, ...also].some((one) => one.contains(event.target))) close(false); };
  const escape = (event) => {
    if (event.key !== "Escape" || !isOpen()) return;
    event.preventDefault();
    close(true);
  };
  document.addEventListener("pointerdown", outside);
  document.addEventListener("focusin", outside);
  document.addEventListener("keydown", escape);
  return () => {
    document.removeEventListener("pointerdown", outside);
    document.removeEventListener("focusin", outside);
    document.removeEventListener("keydown", escape);
  };
}

// A button that unfolds others; it folds after a choice or on focus elsewhere.
export function menu(words, buttons) {
  const made = element("details", { class: "menu" }, element("summary", {}, words), element("div", { class: "items" }, buttons));
  made.addEventListener("click", (event) => { if (event.target.closest("button")) made.open = false; });
  made.addEventListener("toggle", () => { if (made.open) show(byId("toast"), false); }); // which may lie over it
  made.addEventListener("focusout", (event) => { if (!made.contains(event.relatedTarget)) made.open = false; });
  made.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && made.open) {
      made.open = false;
      made.querySelector("summary").focus();
    }
  });
  return made;
}

// A short message at the bottom of the page, announced to screen readers.
export function toast(words) {
  const place = byId("toast");
  place.textContent = words;
  show(place, true);
  clearTimeout(toast.timer);
  toast.timer = setTimeout(() => show(place, false), Math.max(4000, 60 * words.length));
}

// Show a problem's text in its element; null: hide it.
export function tell(problem, where) {
  show(where, Boolean(problem));
  where.replaceChildren(...(problem ? [element("strong", {}, problem.message), ...(problem.hint ? ["\n", problem.hint] : [])] : []));
}

export function save(content, name, type) {
  const link = element("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// Control characters act as keys in a terminal into which a text is pasted: one of them ends a line, and the rest becomes
// a command. Others make a text look like another one. No keyboard types them.
const CONTROL = /(?![\t\n\r])[\p{Cc}\u202a-\u202e\u2066-\u2069]/u;

export function typable(text) {
  return !CONTROL.test(text);
}

export async function copy(text, what, said = `${what} copied.`) {
  if (!typable(text)) return toast(`${what} holds control characters, which a terminal would take for keys: not copied.`);
  try {
    await navigator.clipboard.writeText(text);
    toast(said);
  } catch {
    const shown = element("dialog", { class: "card" }, element("p", {}, `${what}, to copy:`), element("pre", { class: "sql" }, text),
      element("form", { method: "dialog" }, element("button", {}, "Close")));
    document.body.append(shown);
    shown.addEventListener("close", () => shown.remove());
    shown.showModal(); // where a page may not write to the clipboard
  }
}
