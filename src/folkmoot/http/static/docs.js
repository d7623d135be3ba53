// The documentation: `/` leads to the search; where no server searches, the list of all sections is narrowed here.
"use strict";
(() => {
  const field = document.querySelector(".docs-search input");
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input")) return;
    event.preventDefault();
    field.focus();
  });
  const list = document.querySelector("[data-filter]");
  if (!list) return;
  const rows = [...list.children].map((row) => [row, row.textContent.toLowerCase()]);
  const narrow = () => {
    const words = field.value.toLowerCase().split(/\s+/);
    let left = 0;
    for (const [row, text] of rows) {
      row.hidden = !words.every((word) => text.includes(word));
      left += !row.hidden;
    }
    document.getElementById("found").textContent = `${left} of ${rows.length} sections`;
  };
  field.value = new URLSearchParams(location.search).get("q") ?? "";
  field.addEventListener("input", narrow);
  narrow();
})();
