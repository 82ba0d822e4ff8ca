"use strict";
(() => {
  const form = document.getElementById("filters");
  const groups = [...document.querySelectorAll(".group")].map((box) => ({
    box,
    head: box.querySelector("header").textContent.toLowerCase(),
    items: [...box.querySelectorAll(".finding")].map((item) => ({ item, text: null })),
  }));
  const total = groups.reduce((n, group) => n + group.items.length, 0);
  const field = (name) => (form.elements[name] ? form.elements[name].value.trim().toLowerCase() : "");

  const matches = (entry, head, wanted) => {
    const data = entry.item.dataset;
    if (!wanted.severities.has(data.severity)) return false;
    if (wanted.rule && data.rule.toLowerCase() !== wanted.rule) return false;
    if (wanted.state && data.state !== wanted.state) return false;
    if (wanted.shard && !data.shard.toLowerCase().includes(wanted.shard)) return false;
    if (!wanted.text) return true;
    if (entry.text === null) entry.text = entry.item.textContent.toLowerCase();
    return head.includes(wanted.text) || entry.text.includes(wanted.text);
  };

  const apply = () => {
    const ticked = [...form.querySelectorAll("input[name=severity]:checked")].map((box) => box.value);
    const wanted = { severities: new Set(ticked), rule: field("rule"), shard: field("shard"), text: field("text"), state: field("state") };
    let shown = 0;
    for (const group of groups) {
      let inGroup = 0;
      for (const entry of group.items) {
        const isShown = matches(entry, group.head, wanted);
        entry.item.hidden = !isShown;
        inGroup += isShown;
      }
      group.box.hidden = inGroup === 0;
      shown += inGroup;
    }
    document.getElementById("none").hidden = shown > 0;
    document.getElementById("shown").textContent = shown === total ? `${total} listed` : `${shown} of ${total} listed`;
  };

  if (form) {
    form.hidden = false;
    for (const kind of ["input", "change"]) form.addEventListener(kind, apply);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(apply, 0));
    document.addEventListener("keydown", (event) => {
      const isTyping = event.target.matches("input, select, textarea");
      if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
        event.preventDefault();
        form.elements.text.focus();
      }
    });
    apply();
  }

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll(".finding details:not([open]), details.data:not([open])")];
    for (const box of opened) box.open = true;
  });
  addEventListener("afterprint", () => {
    for (const box of opened) box.open = false;
  });
})();
