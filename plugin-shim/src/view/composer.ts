/** The input field: text, attached notes and images, and the buttons to send or to stop. */

import { append, box, clear, element, show, toggle } from "./dom";
import { completed, draggedPaths, matching, type Mention, mentionAt } from "./completion";
import { structured } from "./agreed";
import type { SlashCommand } from "./slash-commands";
import { iconButton, iconOf, type Parts, textButton } from "./part";
import type { ActiveNote } from "../host";
import type { Draft } from "./draft";
import { modeChip } from "./mode";
import { counted, dollars, noteName, tokens } from "./format";

/** The largest image in bytes. The daemon limits the size of the whole message. */
const LARGEST_IMAGE = 2_500_000;
const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/** The number of completions that are listed; of commands. */
const FOUND = 8;
const COMMANDS = 60;
const ICONS: Record<string, string> = { folder: "folder", note: "file-text" };
/** Milliseconds between the last key and the request for completions. */
const PAUSE = 60;

/** The place of a stored message. */
export interface Place {
  sessionId: string;
  /** The message's number in the conversation. */
  item: number;
}

export interface Composer {
  root: HTMLElement;
  update(): void;
  /** Appends a text and attachments to the draft. */
  compose(text: string, attach?: Draft["attachments"]): void;
  /** Edits a message that is stored at `place`. If another conversation is shown in the meantime, the text becomes a new draft. */
  edit(draft: Draft, place: Place | null, focus?: boolean): void;
  /** The current draft, and the number of the message that it edits. */
  kept(): { draft: Draft; item: number | null };
  focus(): void;
  /** Whether the draft is empty. */
  isEmpty(): boolean;
}

/** The actions of the composer. */
export interface Sending {
  send(draft: Draft): void;
  /** Replaces an earlier message, in a new branch. */
  fork(place: Place, draft: Draft): void;
  /** Edits the last message: the arrow up in an empty field. */
  editLast(): void;
  sent(): void;
  /** The commands that a slash offers. */
  commands(): Promise<SlashCommand[]>;
}

/** One line of the list of completions. */
interface Choice {
  icon: string;
  name: string;
  /** The text next to the name. */
  aside: string;
  take(): void;
}

let lists = 0;

export function composer(parts: Parts, sending: Sending): Composer {
  const { scope } = parts;
  const listId = `vs-completions-${++lists}`;
  const root = element(parts.root, "form", { class: "vs-composer" });
  const editing = box(root, "vs-editing");
  const stopEditing = textButton(root, "Cancel", "vs-small");
  append(editing, iconOf(parts, "pencil"), element(root, "span", { text: "Editing: the replies that followed stay in a branch of their own" }), stopEditing);
  const chips = element(root, "div", { class: "vs-chips", attributes: { role: "list", "aria-label": "What goes with the message" } });
  const input = element(root, "textarea", {
    class: "vs-input",
    attributes: {
      rows: 1,
      dir: "auto",
      placeholder: "Ask, or say what to do",
      "aria-label": "Message",
      role: "combobox",
      "aria-autocomplete": "list",
      "aria-expanded": "false",
      "aria-controls": listId,
      enterkeyhint: "send",
    },
  });
  const list = element(root, "div", { class: "vs-completions", attributes: { role: "listbox", id: listId, "aria-label": "Suggestions" } });
  const note = iconButton(parts, "file-text", "Attach the active note");
  const image = iconButton(parts, "image", "Attach an image");
  const file = element(root, "input", { class: "vs-hidden", attributes: { type: "file", accept: IMAGES.join(","), multiple: true, tabindex: -1, "aria-hidden": "true" } });
  const stop = iconButton(parts, "square", "Stop", "vs-stop");
  const send = iconButton(parts, "arrow-up", "Send", "vs-send");
  send.type = "submit";
  const usage = element(root, "span", { class: "vs-usage" });
  const mode = modeChip(parts);
  const bar = box(root, "vs-composer-bar", note, image, file, mode.root, usage, stop, send);
  const frame = box(root, "vs-composer-box", editing, chips, input, bar);
  root.append(list, frame);

  let attachments: Draft["attachments"] = [];
  let images: Draft["images"] = [];
  /** The open note or selection that the person removed, and the one sent with an earlier message of the conversation. */
  let takenOut = "";
  let sent = "";
  let sentTo: string | null = null;
  /** The open note or selection that is shown. */
  let shownContext = "";
  let place: Place | null = null;
  let isComposing = false;
  let mention: Mention | null = null;
  let found: Choice[] = [];
  /** The vault's tags, requested once per mention. */
  let tags: Promise<{ name: string; notes: number }[]> | null = null;
  /** The commands, requested once per mention. */
  let commands: Promise<SlashCommand[]> | null = null;
  let chosen = 0;
  let asked = 0;
  let wait: (() => void) | null = null;
  /** The request for the current completions failed. */
  let isMissed = false;

  const isEmpty = (): boolean => input.value.trim() === "" && attachments.length + images.length === 0;

  /** The open note, or the selection in it: sent with the message unless the person removes it. */
  const context = (): ActiveNote | null => {
    const active = parts.host.activeNote();
    const { path = "" } = active ?? {};
    const isKnown = attachments.some((one) => one.path === path) || input.value.includes(`[[${path.replace(/\.md$/, "")}`) || [takenOut, sent].includes(JSON.stringify(active));
    return isKnown || place !== null || parts.chat.branch !== null ? null : active;
  };

  const drawChips = (): void => {
    clear(chips);
    const active = context();
    shownContext = JSON.stringify(active);
    const chip = (icon: HTMLElement, text: string, title: string, drop: () => void): void => {
      const away = iconButton(parts, "x", `Remove ${text}`);
      away.addEventListener("click", () => {
        drop();
        changed();
        input.focus();
      }, { once: true });
      const words = element(chips, "span", { class: "vs-chip-text", text, attributes: { dir: "auto" } });
      const made = element(chips, "span", { class: "vs-chip", attributes: { role: "listitem", title } }, icon, words, away);
      chips.appendChild(made);
    };
    const noteChip = ({ path, selection }: ActiveNote, title: string, drop: () => void): void => {
      const isNote = selection === undefined;
      chip(iconOf(parts, isNote ? "file-text" : "quote"), isNote ? noteName(path) : `Selection in ${noteName(path)}`, title, drop);
    };
    for (const one of attachments) noteChip(one, one.selection ?? one.path, () => (attachments = attachments.filter((other) => other !== one)));
    if (active) {
      noteChip(active, `Goes with the message, since it is open: ${active.selection ?? active.path}`, () => (takenOut = JSON.stringify(active)));
      chips.lastElementChild?.classList.add("is-context");
    }
    for (const one of images) {
      const src = `data:${one.mimeType};base64,${one.data}`;
      chip(element(chips, "img", { class: "vs-thumbnail", attributes: { src, alt: "" } }), one.name, one.name, () => (images = images.filter((other) => other !== one)));
    }
    show(chips, chips.hasChildNodes());
  };

  const changed = (): void => {
    drawChips();
    update();
  };

  const reset = (): void => {
    input.value = "";
    attachments = [];
    images = [];
    place = null;
    closeList();
    changed();
  };

  const submit = (): void => {
    if (isEmpty() || parts.chat.branch !== null) return;
    const text = input.value.trim();
    // A command names its own subject.
    const open = text.startsWith("/") ? null : context();
    const active = parts.host.activeNote();
    if (open || attachments.some(({ path }) => path === active?.path)) [sent, sentTo] = [JSON.stringify(active), parts.chat.wantedId];
    const draft: Draft = { text, attachments: open ? [...attachments, { ...open, isOpen: true }] : attachments, images };
    const before = place;
    reset();
    if (before === null) sending.send(draft);
    else sending.fork(before, draft);
    sending.sent();
  };

  const attach = (one: Draft["attachments"][number]): void => {
    const isThere = attachments.some((other) => other.path === one.path && other.selection === one.selection);
    if (!isThere) attachments = [...attachments, one];
    changed();
    input.focus();
  };

  // --- completions

  const closeList = (): void => {
    wait?.();
    wait = null;
    isMissed = false;
    asked += 1;
    mention = null;
    tags = commands = null;
    found = [];
    drawList();
  };

  const drawList = (): void => {
    clear(list);
    const isOpen = mention !== null && found.length > 0;
    show(list, isOpen);
    input.setAttribute("aria-expanded", String(isOpen));
    if (!isOpen) {
      input.removeAttribute("aria-activedescendant");
      return;
    }
    found.forEach((one, at) => {
      const id = `${listId}-${at}`;
      const isChosen = at === chosen;
      const attributes = { role: "option", id, "aria-selected": String(isChosen) };
      const row = element(list, "div", { class: `vs-completion${isChosen ? " is-selected" : ""}`, attributes });
      append(
        row,
        iconOf(parts, one.icon),
        element(row, "span", { class: "vs-completion-name", text: one.name, attributes: { dir: "auto" } }),
        one.aside !== "" && element(row, "span", { class: "vs-completion-folder", text: one.aside, attributes: { dir: "auto" } }),
      );
      row.addEventListener("pointerdown", (event) => {
        // The field keeps the focus.
        event.preventDefault();
        choose(at);
      });
      list.appendChild(row);
      if (isChosen) input.setAttribute("aria-activedescendant", id);
    });
  };

  const choose = (at: number): void => {
    const one = found[at];
    if (!one || !mention) return;
    one.take();
  };

  /** Replaces the typed beginning by the chosen name. */
  const complete = (of: Mention, name: string, alias?: string): void => {
    const done = completed(input.value, of, name, alias);
    input.value = done.text;
    input.setSelectionRange(done.cursor, done.cursor);
    closeList();
    changed();
  };

  /** The completions of a mention. */
  const choices = async (of: Mention): Promise<Choice[]> => {
    if (of.kind === "command") {
      commands ??= sending.commands();
      return (await commands).filter(({ name }) => name.startsWith(of.text)).slice(0, COMMANDS).map(({ name, text, icon, takes, run }) => ({
        icon,
        name: `/${name}${takes === undefined ? "" : ` ${takes}`}`,
        aside: text,
        take() {
          input.value = run ? "" : `/${name}${takes === undefined ? "" : " "}`;
          closeList();
          changed();
          if (run) run();
          else if (takes === undefined) submit();
        },
      }));
    }
    if (of.kind === "tag") {
      tags ??= parts.chat.tool("list_tags", {}).then((answer) => (structured(answer) as { tags?: { name: string; notes: number }[] }).tags ?? []);
      return matching(await tags, of.text, FOUND).map(({ name, notes }) => ({ icon: "tag", name: `#${name}`, aside: counted(notes, "note"), take: () => complete(of, name) }));
    }
    const answer = await parts.connection.call("_vault/complete", { text: of.text, limit: FOUND });
    return answer.found.flatMap(({ kind, name, folder, path, aliases = [] }): Choice[] => {
      const icon = ICONS[kind] ?? "file";
      if (aliases.length === 0) return [{ icon, name, aside: folder, take: () => complete(of, path) }];
      return aliases.map((alias) => ({ icon, name: alias, aside: path.replace(/\.md$/, ""), take: () => complete(of, path, alias) }));
    }).slice(0, FOUND);
  };

  const look = (): void => {
    wait?.();
    const now = input.selectionStart === input.selectionEnd ? mentionAt(input.value, input.selectionStart) : null;
    if (!now) {
      if (mention) closeList();
      return;
    }
    mention = now;
    const request = ++asked;
    const ask = (): void => {
      wait = null;
      choices(now).then(
        (answer) => {
          if (request !== asked || scope.ended) return;
          found = answer;
          chosen = 0;
          drawList();
        },
        () => {
          if (request !== asked) return;
          closeList();
          isMissed = true;
        },
      );
    };
    // Without a pause, so that Enter after a fully typed command runs it.
    if (now.kind === "command") ask();
    else wait = scope.after(PAUSE, ask);
  };

  // --- images and files

  const takeImage = async (blob: File): Promise<void> => {
    if (!IMAGES.includes(blob.type)) {
      parts.host.notice(`${blob.name} is not a PNG, JPEG, GIF or WebP image, so it cannot be sent`);
      return;
    }
    if (blob.size > LARGEST_IMAGE) {
      parts.host.notice(`${blob.name} is too large to be sent; the limit is 2.5 MB`);
      return;
    }
    const bytes = new Uint8Array(await blob.arrayBuffer());
    let text = "";
    for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
    if (scope.ended) return;
    images = [...images, { data: btoa(text), mimeType: blob.type, name: blob.name || "image" }];
    changed();
  };

  const takeFiles = (files: Iterable<File>): void => {
    for (const one of files) {
      if (one.type.startsWith("image/")) void takeImage(one);
      else parts.host.notice(`Add ${one.name} to the vault first; only files in the vault can be read`);
    }
  };

  const update = (): void => {
    const { chat } = parts;
    const isReading = chat.branch !== null;
    if (place && !chat.pages.loading && place.sessionId !== chat.wantedId) place = null;
    input.disabled = isReading;
    send.disabled = isEmpty() || isReading;
    show(stop, chat.isWorking);
    toggle(root, "is-working", chat.isWorking);
    show(editing, place !== null);
    // Another conversation has not received it; a new conversation has its number now.
    const { wantedId } = chat;
    if (sentTo !== wantedId) [sent, sentTo] = [sentTo === null ? sent : "", wantedId];
    if (JSON.stringify(context()) !== shownContext) drawChips();
    show(note, parts.host.activeNote() !== null && context() === null);
    const { status } = chat.timeline;
    const waits = status.waiting && status.state === "idle";
    input.placeholder = waits ? "Answer the question" : chat.isWorking ? "Add a message; it will be read at the next step" : "Ask, or say what to do";
    drawUsage(usage, parts);
    mode.update();
  };

  const compose: Composer["compose"] = (text, attach_ = []) => {
    const before = input.value.trim();
    input.value = before === "" ? text : text === "" ? before : `${before}\n${text}`;
    attach_.forEach(attach);
    changed();
    input.focus();
  };

  // --- events

  scope.listen(root, "submit", (event) => {
    event.preventDefault();
    submit();
  });
  scope.listen(input, "input", () => {
    update();
    look();
  });
  scope.listen(input, "blur", closeList);
  scope.add(parts.connection.onState(({ kind }) => {
    if (kind === "connected" && isMissed) look();
  }));
  scope.listen(input, "compositionstart", () => (isComposing = true));
  // Some browsers send the key that ends a composition only after this event.
  scope.listen(input, "compositionend", () => scope.after(0, () => (isComposing = false)));
  scope.listen(input, "keydown", (event) => {
    // Keys pressed during a composition belong to the input method.
    if (event.isComposing || isComposing) return;
    if (mention && found.length > 0) {
      const keys: Record<string, () => void> = {
        ArrowDown: () => (chosen = (chosen + 1) % found.length),
        ArrowUp: () => (chosen = (chosen + found.length - 1) % found.length),
        Enter: () => choose(chosen),
        Tab: () => choose(chosen),
        Escape: closeList,
      };
      const act = event.shiftKey ? undefined : keys[event.key];
      if (act) {
        event.preventDefault();
        event.stopPropagation();
        act();
        drawList();
        return;
      }
    }
    if (event.key === "Enter" && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      submit();
    } else if (event.key === "Escape" && place) {
      event.stopPropagation();
      reset();
    } else if (event.key === "ArrowUp" && isEmpty()) {
      event.preventDefault();
      sending.editLast();
    }
  });
  scope.listen(input, "paste", (event) => {
    const files = [...(event.clipboardData?.files ?? [])];
    const text = event.clipboardData?.getData("text/plain") ?? "";
    // Some programs add a picture of the copied text, which is ignored; a copied file comes with its name as text.
    if (files.length === 0 || (text !== "" && !files.some(({ name }) => text.includes(name)))) return;
    event.preventDefault();
    takeFiles(files);
  });
  scope.listen(parts.root, "dragover", (event) => {
    event.preventDefault();
    toggle(root, "is-dragged-over", true);
  });
  scope.listen(parts.root, "dragleave", (event) => {
    if (!parts.root.contains(event.relatedTarget as Node | null)) toggle(root, "is-dragged-over", false);
  });
  scope.listen(parts.root, "drop", (event) => {
    toggle(root, "is-dragged-over", false);
    const { dataTransfer } = event;
    const text = dataTransfer?.getData("text/plain") ?? "";
    const paths = [text, dataTransfer?.getData("text/uri-list") ?? ""].map(draggedPaths).find((all) => all.length > 0) ?? [];
    const files = dataTransfer?.files ?? [];
    // The field inserts dropped text itself, at the cursor.
    if (event.target === input && paths.length + files.length === 0) return;
    event.preventDefault();
    for (const path of paths) attach({ path: parts.host.resolveLink?.(path, "")?.path ?? path });
    if (paths.length > 0) return;
    takeFiles(files);
    if (files.length === 0) compose(text);
  });
  scope.listen(note, "click", () => {
    const active = parts.host.activeNote();
    if (active) attach(active);
  });
  scope.listen(image, "click", () => file.click());
  scope.listen(file, "change", () => {
    takeFiles([...(file.files ?? [])]);
    file.value = "";
  });
  scope.listen(stop, "click", () => parts.chat.stop());
  scope.listen(stopEditing, "click", () => {
    reset();
    input.focus();
  });
  scope.listen(frame, "click", (event) => {
    if (event.target === frame || event.target === bar) input.focus();
  });
  scope.add(parts.host.onActiveNote(update));
  // No event reports a changed selection, so it is read again before a button can be pressed.
  for (const type of ["focusin", "pointerenter"] as const) scope.listen(parts.root, type, update);
  closeList();
  changed();

  return {
    root,
    update,
    isEmpty,
    compose,
    edit(draft, of, focus = true) {
      input.value = draft.text;
      attachments = draft.attachments;
      images = draft.images;
      place = of;
      changed();
      if (!focus) return;
      input.focus();
      input.setSelectionRange(draft.text.length, draft.text.length);
    },
    kept: () => ({
      draft: { text: input.value, attachments, images },
      item: place && place.sessionId === parts.chat.wantedId ? place.item : null,
    }),
    focus: () => input.focus(),
  };
}

function drawUsage(into: HTMLElement, { chat }: Parts): void {
  const { used = 0, size = 0, cost = 0 } = chat.usage ?? {};
  const spent = dollars(cost);
  show(into, used > 0 || spent !== "");
  clear(into);
  const share = size > 0 ? Math.min(used / size, 1) : 0;
  if (share > 0) {
    const bar = box(into, "vs-meter", box(into, ""));
    (bar.firstElementChild as HTMLElement).style.inlineSize = `${100 * share}%`;
    toggle(bar, "is-full", share > 0.8);
    into.append(bar);
  }
  into.append([used > 0 ? tokens(used) : "", spent].filter((part) => part !== "").join(" · "));
  const of = size > 0 ? ` of ${tokens(size)} tokens (${Math.round(100 * share)} %)` : " tokens";
  const words = [used > 0 ? `${tokens(used)}${of} of context in use` : "", spent && `about ${spent} in this conversation`];
  into.title = words.filter((part) => part !== "").join("; ");
  into.setAttribute("role", "img");
  into.setAttribute("aria-label", into.title);
}
