// Keys of every screen: `g` and a letter, `/`, `?`, `j` and `k`, Ctrl+Enter, and whatever an element says with data-key.
"use strict";
(() => {
  const TYPING = "input:not([type=radio], [type=checkbox], [type=range]), textarea, select, [contenteditable]";
  const SEARCH = "main .search input";
  const ROWS = "main .item .title, main a.talk, main a.ask, main a.card, main .node, #fall .op";
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
    const search = document.querySelector(SEARCH);
    switch (event.key) {
      case "g": going = event.timeStamp; return true;
      case "?": keys.showModal(); return true;
      case "/": search ? search.focus() : location.assign("/runs#find"); return true;
      case "j": return step(1);
      case "k": return step(-1);
      default: {
        const anywhere = document.querySelector(`[data-key="${CSS.escape(event.key)}"]:not(:disabled)`);
        return Boolean(anywhere) && press(anywhere);
      }
    }
  };
  // What a form is sent with: what it names, its only button, or its first choice. Among equal ones people choose.
  const send = (form) => {
    const buttons = [...form.querySelectorAll("button:not([type=button])")];
    const one = buttons.find((each) => "send" in each.dataset) ?? (buttons.length === 1 ? buttons[0] : buttons.find((each) => each.matches(".primary")));
    if (!one) buttons[0]?.focus();
    else if (!one.disabled) form.requestSubmit(one);
  };
  document.addEventListener("keydown", (event) => {
    const form = event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.closest("form");
    if (form && form.method !== "dialog" && !event.defaultPrevented) { event.preventDefault(); send(form); return; }
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || keys.open) return;
    if (event.target.closest(TYPING)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (event.target.closest("[role=treegrid]") && event.key.length === 1 && "jkf".includes(event.key)) return;
    if (perform(event)) event.preventDefault();
  });
})();
