// Themes, what changed in the project, and what a page says when nobody keeps it up to date any more. Else htmx.
"use strict";

const root = document.documentElement;
const kept = localStorage.getItem("theme");
if (kept) root.dataset.theme = kept;

document.addEventListener("click", (event) => {
  if (!event.target.closest("[data-theme-switch]")) return;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
});

const lost = (words) => {
  const mark = document.getElementById("lost");
  mark.hidden = !words;
  mark.lastElementChild.textContent = words;
  document.querySelector(".pulse").classList.toggle("lost", Boolean(words));
  if (words) document.getElementById("live").textContent = "Not live";
  // Nothing can be sent meanwhile, and what is written in a form is not to be lost on an error page.
  for (const button of document.querySelectorAll(words ? "form[method=post] button:not(:disabled)" : "button[data-lost]")) {
    button.disabled = Boolean(words);
    if (words) button.dataset.lost = button.title;
    button.title = words || button.dataset.lost;
    if (!words) delete button.dataset.lost;
  }
};
const away = () => lost("The server does not answer. What you see is from before; this page goes on by itself when it is back.");
document.addEventListener("htmx:sendError", away);
document.addEventListener("htmx:timeout", away);
document.addEventListener("htmx:responseError", (event) => {
  const status = event.detail.xhr.status;
  if ([502, 503, 504].includes(status)) away(); // of a proxy in front of it
  if (status === 401) lost("You are signed out, so what you see is from before. Load this page again to sign in.");
});
document.addEventListener("htmx:beforeSwap", (event) => { if (event.detail.xhr.status < 400) lost(""); });

// The change feed: each table whose rows changed becomes the event `rows:TABLE`, upon which parts of the page load anew.
const changed = (tables) => {
  for (const table of ["all", ...tables]) htmx.trigger(document.body, `rows:${table}`);
};
let missed = false;
const follow = () => {
  const feed = new WebSocket(`${location.origin.replace(/^http/, "ws")}/ws?rows=true`);
  feed.onmessage = (event) => {
    const told = JSON.parse(event.data);
    if (told.type === "rows_changed") changed(Object.keys(told.data));
    if (told.type === "connected" && missed) changed(["runs", "inbox", "records", "spend"]);
    missed = false;
  };
  feed.onclose = () => {
    missed = true;
    setTimeout(follow, 2000);
  };
};
addEventListener("load", follow);
