// What is looked at inside a page. These functions run there; each stands alone.

/** Notes what the browser keeps from happening, and what moves by itself. */
export function watch() {
  window.seen = { violations: [], shift: 0 };
  document.addEventListener("securitypolicyviolation", (event) => window.seen.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
  try {
    const observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) window.seen.shift += entry.value;
    });
    observer.observe({ type: "layout-shift", buffered: true });
  } catch { /* a browser without it */ }
}

/** Returns what is wrong with a page, what kind it is, and all its addresses. */
export function survey() {
  const problems = window.seen ? window.seen.violations.map((what) => `policy: ${what}`) : [];
  if (window.seen?.shift > 0.02) problems.push(`what stands on it moves by ${window.seen.shift.toFixed(3)}`);
  const page = document.documentElement;
  if (page.scrollWidth > page.clientWidth) problems.push(`wider than the window: ${page.scrollWidth} of ${page.clientWidth}`);
  if (document.querySelectorAll("main").length !== 1) problems.push("not one main part");
  if (document.querySelectorAll("h1").length !== 1) problems.push("not one heading");
  if (page.lang !== "ja") problems.push("not said to be Japanese");
  const elements = [...document.querySelectorAll("*")];
  for (const one of elements) {
    for (const { name, value } of one.attributes) {
      if (name.startsWith("on") || name === "style") problems.push(`attribute ${name} on ${one.localName}`);
      if (["href", "src", "action"].includes(name) && /^\s*(javascript|data|vbscript):/i.test(value)) problems.push(`${one.localName} leads to ${value.slice(0, 60)}`);
    }
  }
  for (const script of document.scripts) if (!script.src) problems.push("a script within the page");
  for (const image of document.images) {
    if (!image.hasAttribute("alt")) problems.push(`no text for ${image.src}`);
    if (!image.width || !image.height || !image.getAttribute("width")) problems.push(`no size for ${image.src}`);
    if (image.complete && !image.naturalWidth) problems.push(`a broken picture: ${image.src}`);
    const kept = Number(image.getAttribute("width")) / Number(image.getAttribute("height"));
    const shown = image.getBoundingClientRect();
    const fits = ["cover", "contain"].includes(getComputedStyle(image).objectFit) || Math.abs(shown.width / shown.height / kept - 1) < 0.05;
    if (shown.height && !fits) problems.push(`out of shape: ${image.src} is ${shown.width} by ${shown.height}`);
  }
  // Vertical: one letter stands below the other, one line to the left of the other.
  for (const poem of document.querySelectorAll(".waka")) {
    const letters = [];
    const walker = document.createTreeWalker(poem, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node && letters.length < 400; node = walker.nextNode()) {
      if (node.parentElement.closest(".upright")) continue;
      for (let at = 0; at < Math.min(node.data.length, 400); at += 1) {
        if (!/[\u3041-\u30ff\u4e00-\u9fff]/.test(node.data[at])) continue;
        const range = document.createRange();
        range.setStart(node, at);
        range.setEnd(node, at + 1);
        const box = range.getBoundingClientRect();
        if (box.width) letters.push(box);
      }
    }
    if (poem.getBoundingClientRect().height < 20) problems.push("a poem without height");
    if (getComputedStyle(poem).writingMode !== "vertical-rl") problems.push("a poem is not set vertically");
    if (letters.length < 4) continue;
    const pairs = letters.slice(1).map((box, at) => [letters[at], box]);
    const down = pairs.filter(([one, other]) => other.top > one.top && Math.abs(other.left - one.left) < 2).length;
    const left = pairs.filter(([one, other]) => other.right < one.left + 2).length;
    const right = pairs.filter(([one, other]) => other.left > one.right - 2).length;
    if (right > pairs.length / 20 || down + left < pairs.length / 2) problems.push(`a poem is not vertical: of ${pairs.length} steps ${down} lead down, ${left} to the left, ${right} to the right`);
    // What does not fit is scrolled, and begins at the right.
    const frame = poem.closest(".scroll")?.getBoundingClientRect();
    const range = document.createRange();
    if (!poem.firstChild) continue;
    range.setStart(poem.firstChild, 0);
    range.setEnd(poem.firstChild, 1);
    const first = range.getBoundingClientRect();
    if (frame && (first.right > frame.right + 2 || first.left < frame.left - 2)) problems.push("a poem begins out of sight");
  }
  const links = [...document.querySelectorAll("a[href], link[href], script[src], img[src], form[action]")].flatMap((one) => one.href || one.src || one.action || []);
  const sets = [...document.querySelectorAll("img[srcset]")].flatMap((image) => image.srcset.split(", ").map((part) => new URL(part.split(" ")[0], document.baseURI).href));
  return {
    problems,
    kind: document.body.className,
    next: document.querySelector('main a[rel="next"]')?.href ?? null,
    isPaged: Boolean(document.querySelector("nav.paging")),
    links: [...links, ...sets].map(String),
  };
}
