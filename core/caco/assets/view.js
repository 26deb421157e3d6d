"use strict";
// Claims and their evidence light up together; a link also leads to the evidence without this file.
(() => {
  const inside = (node) => node instanceof Element && node.closest(".caco");

  function light(view, number) {
    for (const node of view.querySelectorAll(".current")) node.classList.remove("current");
    if (!number) return;
    for (const node of view.querySelectorAll(`[data-claim="${number}"], [data-claims~="${number}"]`)) {
      if (node.matches(".claim, li, mark")) node.classList.add("current");
    }
  }

  function show(event) {
    const view = inside(event.target);
    const claim = view && event.target.closest(".claim, li[data-claim]");
    if (claim) light(view, claim.dataset.claim);
    return claim;
  }

  function scrollWithin(box, node) {
    const outer = box.getBoundingClientRect();
    const inner = node.getBoundingClientRect();
    if (inner.top < outer.top || inner.bottom > outer.bottom) {
      box.scrollTop += inner.top - outer.top - box.clientHeight / 3;
    }
  }

  document.addEventListener("focusin", show);
  document.addEventListener("mouseover", (event) => {
    const claim = show(event);
    if (!claim) return;
    // Hovering scrolls only the document's own box: the page must not jump under the pointer.
    for (const mark of claim.closest(".caco").querySelectorAll("mark.current")) {
      scrollWithin(mark.closest(".text"), mark);
      break;
    }
  });
  document.addEventListener("click", (event) => {
    const link = inside(event.target) && event.target.closest("a[href^='#']");
    if (!link) return;
    const target = document.getElementById(link.getAttribute("href").slice(1));
    if (!target) return;
    event.preventDefault();
    target.scrollIntoView({ block: "center" });
    target.focus({ preventScroll: true });
    light(link.closest(".caco"), link.dataset.claim);
  });
})();
