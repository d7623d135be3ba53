// The tree of a run: keys as in the ARIA treegrid pattern, folding, selection, and the replay slider.
"use strict";
(() => {
  const level = (op) => Number(op.getAttribute("aria-level"));
  const tree = () => document.getElementById("fall");
  const every = () => [...tree().querySelectorAll(".op")];
  const folded = new Set(); // ids of rows, kept over what the server sends anew

  const applyFolds = () => {
    let below = Infinity;
    for (const op of every()) {
      if (level(op) <= below) below = Infinity;
      op.hidden = below !== Infinity;
      if (!op.hasAttribute("aria-expanded")) continue;
      op.setAttribute("aria-expanded", String(!folded.has(op.id)));
      if (below === Infinity && folded.has(op.id)) below = level(op);
    }
  };
  const fold = (op, close) => {
    close ? folded.add(op.id) : folded.delete(op.id);
    applyFolds();
  };
  const focus = (op) => {
    for (const other of tree().querySelectorAll('.op[tabindex="0"]')) other.tabIndex = -1;
    op.tabIndex = 0;
    op.focus();
  };
  const open = (op) => {
    const address = op.querySelector(".who").href;
    for (const other of tree().querySelectorAll('[aria-selected="true"]')) other.setAttribute("aria-selected", "false");
    op.setAttribute("aria-selected", "true");
    document.querySelector(".with-drawer").classList.add("chosen");
    history.pushState({}, "", address);
    htmx.ajax("GET", address, { target: "#drawer", swap: "outerHTML" });
  };
  const nextFailure = (rows, at) => {
    const failed = (op) => op.classList.contains("failed");
    return rows.slice(at + 1).find(failed) ?? rows.find(failed);
  };

  document.addEventListener("click", (event) => {
    const op = event.target.closest("#fall .op");
    if (!op || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    if (event.target.closest(".twist") && op.hasAttribute("aria-expanded")) return fold(op, !folded.has(op.id));
    focus(op);
    open(op);
  });

  document.addEventListener("keydown", (event) => {
    const op = event.target.closest("#fall .op");
    const anywhere = event.key === "f" && !event.target.closest("input, textarea, select");
    if (!(op || anywhere) || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const rows = every().filter((row) => !row.hidden), at = rows.indexOf(op);
    const isOpen = op?.getAttribute("aria-expanded");
    const go = { ArrowDown: rows[at + 1], j: rows[at + 1], ArrowUp: rows[at - 1], k: rows[at - 1], Home: rows[0], End: rows.at(-1), f: nextFailure(rows, at) }[event.key];
    if (go) focus(go);
    else if (!op) return;
    else if (event.key === "ArrowRight" && isOpen === "false") fold(op, false);
    else if (event.key === "ArrowRight" && isOpen === "true" && rows[at + 1]) focus(rows[at + 1]);
    else if (event.key === "ArrowLeft" && isOpen === "true") fold(op, true);
    else if (event.key === "ArrowLeft") focus(rows.slice(0, at).findLast((row) => level(row) < level(op)) ?? op);
    else if (event.key === "Enter") open(op);
    else return;
    event.preventDefault();
  });

  window.addEventListener("popstate", () => location.reload());

  // What the server sends takes the place of the row that is there; folds and the selection stay.
  const keep = (op) => {
    const old = document.getElementById(op.id);
    if (!old) return;
    for (const name of ["aria-selected", "tabindex"]) op.setAttribute(name, old.getAttribute(name));
    return old;
  };
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const { fragment, target } = event.detail;
    const rows = fragment.querySelectorAll?.(".op") ?? [];
    for (const op of rows) {
      const old = keep(op);
      if (old && old !== target) old.remove();
    }
  });
  document.addEventListener("htmx:afterSettle", () => { if (tree() && folded.size) applyFolds(); });
  document.addEventListener("htmx:oobAfterSwap", () => { if (tree() && folded.size) applyFolds(); });

  // The open drawer follows its row, and stays where it was read; whoever marks text in it is not disturbed.
  const STOPS = "a, button, summary";
  let fetching = false;
  const refreshDrawer = async () => {
    const drawer = document.getElementById("drawer"), seen = document.getElementById("seen").dataset.seq;
    const seq = drawer.dataset.seq ?? tree().querySelector(".op")?.dataset.seq;
    const row = document.getElementById(`op-${seq}`), marked = getSelection();
    if (!seq || fetching || Number(row?.dataset.changed ?? seen) <= Number(drawer.dataset.changed ?? -1)) return;
    if (!marked.isCollapsed && drawer.contains(marked.anchorNode)) { setTimeout(refreshDrawer, 1000); return; }
    const top = drawer.querySelector(".scroll")?.scrollTop ?? 0;
    const opened = [...drawer.querySelectorAll("details")].map((each) => each.open);
    const at = [...drawer.querySelectorAll(STOPS)].indexOf(document.activeElement);
    fetching = true;
    await htmx.ajax("GET", `${location.pathname}?op=${seq}`, { target: "#drawer", swap: "outerHTML" }).finally(() => { fetching = false; });
    const now = document.getElementById("drawer");
    now.querySelectorAll("details").forEach((each, n) => { each.open = opened[n] ?? each.open; });
    now.querySelectorAll(STOPS)[at]?.focus({ preventScroll: true });
    now.querySelector(".scroll").scrollTop = top;
  };

  // Replay: at once what had not begun yet fades; then the server draws the run as it was.
  const slider = document.querySelector("[data-replay]");
  if (!slider) return;
  const run = document.querySelector("[data-run]").dataset.run;
  const words = document.querySelector("[data-replay-at]");
  const show = () => {
    const at = Number(slider.value);
    for (const op of every()) op.classList.toggle("later", Number(op.dataset.seq) > at);
    words.textContent = at === Number(slider.max) ? `Event ${at}` : `Event ${at} of ${slider.max}`;
  };
  const draw = () => {
    const address = new URL(location);
    address.searchParams.set("at", slider.value);
    if (slider.value === slider.max) address.searchParams.delete("at");
    history.replaceState({}, "", address);
    return htmx.ajax("GET", `/runs/${run}/fall?at=${slider.value}`, { target: "#fall", swap: "outerHTML" });
  };
  document.addEventListener("htmx:oobAfterSwap", (event) => {
    if (event.detail.target?.id !== "seen") return;
    const seen = document.getElementById("seen").dataset, last = slider.value === slider.max;
    slider.max = seen.seq;
    if (last) { slider.value = seen.seq; words.textContent = seen.words; }
    refreshDrawer();
  });
  slider.addEventListener("input", show);
  slider.addEventListener("change", draw);

  let playing = 0;
  document.querySelector("[data-play]").addEventListener("click", (event) => {
    event.preventDefault();
    if (playing) { clearInterval(playing); playing = 0; draw(); return; }
    if (slider.value === slider.max) slider.value = 1;
    const stride = Math.max(1, Math.round(slider.max / 200));
    playing = setInterval(() => {
      slider.value = Number(slider.value) + stride;
      show();
      if (slider.value === slider.max) { clearInterval(playing); playing = 0; draw(); }
    }, 80);
  });
})();
