// Keys of every screen: `g` and a letter, `/`, `?`, `j` and `k`, and whatever an element says with data-key.
"use strict";
(() => {
  const TYPING = "input, textarea, select, [contenteditable]";
  const ROWS = "main .item .title, main a.talk, main a.ask, main .node";
  const SOON = 1500; // milliseconds in which a letter belongs to the `g` before it
  const keys = document.getElementById("all-keys");
  let going = 0;

  const step = (by) => {
    const rows = [...document.querySelectorAll(ROWS)].filter((row) => row.getClientRects().length);
    const at = rows.indexOf(document.activeElement);
    rows.at(at < 0 ? (by > 0 ? 0 : -1) : Math.min(Math.max(at + by, 0), rows.length - 1))?.focus();
    return rows.length > 0;
  };
  // Refusing needs a reason: the key leads to it first.
  const press = (element) => {
    const reason = element.matches(".danger") && element.form?.querySelector("textarea");
    reason && !reason.value ? reason.focus() : element.click();
    return true;
  };
  const perform = (event) => {
    const own = document.querySelector(`main [data-key="${CSS.escape(event.key)}"]:not(:disabled)`);
    if (going && event.timeStamp - going < SOON) {
      going = 0;
      const there = document.querySelector(`[data-go="${CSS.escape(event.key)}"]`);
      if (there) return press(there);
    }
    if (own) return press(own);
    const search = document.querySelector("main .search input");
    switch (event.key) {
      case "g": going = event.timeStamp; return true;
      case "?": keys.showModal(); return true;
      case "/": search?.focus(); return Boolean(search);
      case "j": return step(1);
      case "k": return step(-1);
      default: {
        const anywhere = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
        return Boolean(anywhere) && press(anywhere);
      }
    }
  };
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || keys.open) return;
    if (event.target.closest(TYPING)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (event.target.closest("[role=treegrid]") && event.key.length === 1 && "jkf".includes(event.key)) return;
    if (perform(event)) event.preventDefault();
  });
})();
