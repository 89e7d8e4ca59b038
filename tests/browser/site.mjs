// One site: every kind of its pages is looked at in the browser, every address on them is followed.
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import * as eye from "./eye.mjs";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const AXE = createRequire(path.join(root, ".tools/browser/")).resolve("axe-core/axe.min.js");
/** Most pages of a site that are opened; addresses on them are followed nevertheless. */
const MOST_PAGES = 45;
/** Most addresses that are followed. */
const MOST_LINKS = 4000;

export class Site {
  constructor(browser, { name, base, isServed = false, isLarge = false, queries = ["の"] }) {
    Object.assign(this, { browser, name, base, isServed, isLarge, queries });
    this.problems = [];
    this.pages = 0;
    this.links = 0;
    // What a folder without a host shows is its list.
    this.front = base.startsWith("file:") ? `${base}index.html` : base;
    this.origin = base.startsWith("file:") ? "file://" : new URL(base).origin;
  }

  problem(where, what) {
    this.problems.push(`${decodeURI(where.replace(this.base, "/"))}: ${what}`);
  }

  async look() {
    const context = await this.open();
    const seen = await this.walk(context);
    const poem = seen.find((page) => page.kind === "poem" && page.next) ?? seen.find((page) => page.kind === "poem");
    const round = seen.find((page) => page.kind === "round" && !page.isPaged) ?? seen.find((page) => page.kind === "round");
    if (!poem || !round) return this.problem(this.base, "there is no poem, or no round");
    await this.keyboard(context, poem);
    for (const query of this.queries) await this.search(context, query);
    await this.print(context, round);
    await context.close();
    await this.narrow([this.front, round.url, poem.url, ...seen.filter((page) => page.kind === "poem").slice(1, 4).map((page) => page.url)]);
    await this.withoutScript([this.front, round.url, poem.url]);
    if (this.isServed && !this.isLarge) await this.dark([this.front, round.url, poem.url]);
  }

  async open(more = {}) {
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 900 }, ...more });
    await context.addInitScript(eye.watch);
    return context;
  }

  /** Opens a page, and notes what it complains of and asks for. */
  async page(context, url) {
    const page = await context.newPage();
    const complain = (what) => this.problem(url, what);
    page.on("console", (message) => message.type() === "error" && complain(`console: ${message.text()}`));
    page.on("pageerror", (error) => complain(`script: ${error.message}`));
    page.on("dialog", (dialog) => { complain(`dialog: ${dialog.message()}`); dialog.dismiss(); });
    page.on("request", (request) => request.url().startsWith(this.origin) || request.url().startsWith("data:") || complain(`asks elsewhere: ${request.url()}`));
    // The browser gives up fetching the tab's icon and listening for changes when it leaves the page.
    const isGivenUp = (request) => request.failure()?.errorText === "net::ERR_ABORTED" && /\/assets\/icon-|\/changes$/.test(request.url());
    page.on("requestfailed", (request) => isGivenUp(request) || complain(`not there: ${request.url()}`));
    page.on("response", (response) => response.status() >= 400 && complain(`${response.status()}: ${response.url()}`));
    await page.goto(url, { waitUntil: "load" });
    this.pages += 1;
    return page;
  }

  /** Opens pages from the front on, some of each kind, and follows every address on them. */
  async walk(context) {
    const waiting = [this.front];
    const known = new Set(waiting);
    const seen = [];
    const count = { round: 0, poem: 0, other: 0 };
    const most = this.isLarge ? { round: 3, poem: 2, other: 3 } : { round: 5, poem: 14, other: 3 };
    while (waiting.length && this.pages < MOST_PAGES) {
      const url = waiting.shift();
      const kind = /\/rounds\/[^/]+\/\d+(\/|$)/.test(url) ? "poem" : url.includes("/rounds/") ? "round" : "other";
      if (count[kind]++ >= most[kind]) continue;
      const page = await this.page(context, url);
      const found = await page.evaluate(eye.survey);
      for (const what of found.problems) this.problem(url, what);
      await this.judge(page, url);
      await this.shoot(page, `${kind}-${count[kind]}`);
      seen.push({ url, kind: found.kind, next: found.next, isPaged: found.isPaged });
      for (const link of found.links) {
        const address = link.split("#")[0];
        if (known.has(address) || known.size >= MOST_LINKS) continue;
        known.add(address);
        if (!address.startsWith(this.base)) {
          if (address.startsWith(this.origin)) this.problem(url, `leaves the site: ${address}`);
          continue;
        }
        if (await this.leads(url, address)) waiting.push(address);
      }
      await page.close();
    }
    return seen;
  }

  /** Tells whether an address leads to another page; complains if it leads nowhere. */
  async leads(from, address) {
    this.links += 1;
    if (this.base.startsWith("file:")) {
      const file = fileURLToPath(address.split("?")[0]);
      const exists = fs.statSync(file, { throwIfNoEntry: false })?.isFile();
      if (!exists) this.problem(from, `a dead link: ${address}`);
      return Boolean(exists) && file.endsWith(".html");
    }
    const answer = await fetch(address, { headers: { Accept: "text/html" } });
    await answer.arrayBuffer();
    if (!answer.ok) this.problem(from, `a dead link (${answer.status}): ${address}`);
    return answer.ok && (answer.headers.get("content-type") ?? "").startsWith("text/html");
  }

  /** Has axe-core judge a page. */
  async judge(page, url) {
    // Its own window: what it puts into a page is not under the page's policy.
    await page.evaluate(fs.readFileSync(AXE, "utf8"));
    const violations = await page.evaluate(() => window.axe.run({ preload: false }).then((result) => result.violations));
    for (const { id, impact, nodes } of violations) {
      if (impact === "serious" || impact === "critical") this.problem(url, `axe: ${id} (${impact}): ${nodes[0].html.slice(0, 160)}`);
    }
  }

  async shoot(page, name) {
    if (!process.env.SHOTS) return;
    fs.mkdirSync(process.env.SHOTS, { recursive: true });
    await page.screenshot({ path: path.join(process.env.SHOTS, `${this.name}-${name}.png`.replaceAll(/[ ,]+/g, "-")), fullPage: true });
  }

  /** Walks with the keyboard alone: past the head, to the next poem and back, in and out of the field; copies the address. */
  async keyboard(context, { url }) {
    const page = await this.page(context, url);
    await page.keyboard.press("Tab");
    if (!(await page.evaluate(() => document.activeElement.matches("a.skip")))) this.problem(url, "the first stop is not the way to the text");
    await page.keyboard.press("Enter");
    if (!page.url().endsWith("#main")) this.problem(url, "the way to the text leads elsewhere");
    const stops = await this.stops(page);
    for (const { what, outline } of stops) if (!outline) this.problem(url, `no visible focus on ${what}`);
    if (!stops.some(({ what }) => what.startsWith("div.scroll"))) this.problem(url, "the poem cannot be reached to be scrolled");
    const next = await page.evaluate(() => document.querySelector('main a[rel="next"]')?.href);
    await page.evaluate(() => document.activeElement.blur());
    if (next) {
      await page.keyboard.press("ArrowRight");
      await page.waitForURL(next, { timeout: 5000 }).catch(() => this.problem(url, "the arrow does not lead to the next poem"));
      await page.keyboard.press("ArrowLeft");
      await page.waitForURL(url, { timeout: 5000 }).catch(() => this.problem(url, "the arrow does not lead back"));
    }
    const field = page.locator('input[type="search"]');
    if (await field.count()) {
      await field.focus();
      await page.keyboard.press("ArrowRight");
      await page.waitForTimeout(100);
      if (page.url() !== url) this.problem(url, "an arrow in the field leaves the page");
    }
    const button = page.locator("button.copy");
    if (await button.isVisible()) {
      await context.grantPermissions(["clipboard-read", "clipboard-write"]);
      await button.click();
      await page.waitForFunction(() => document.querySelector("button.copy").textContent === "コピーしました", null, { timeout: 5000 }).catch(() => this.problem(url, "the address was not copied"));
      const copied = await page.evaluate(() => navigator.clipboard.readText());
      if (new URL(copied).pathname.replace(/index\.html$/, "") !== new URL(url).pathname.replace(/index\.html$/, "")) this.problem(url, `another address was copied: ${copied}`);
    } else if (!this.base.startsWith("file:")) {
      this.problem(url, "no button copies the address");
    }
    await page.close();
  }

  /** Returns where the tabulator stops, and whether that can be seen. */
  async stops(page) {
    const stops = [];
    for (let at = 0; at < 40; at += 1) {
      await page.keyboard.press("Tab");
      const stop = await page.evaluate(() => {
        const one = document.activeElement;
        if (!one || one === document.body) return null;
        const style = getComputedStyle(one);
        return { what: `${one.localName}.${one.className}`, outline: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 };
      });
      if (!stop) break;
      stops.push(stop);
    }
    return stops;
  }

  /** Looks for something, by typing it into the field. */
  async search(context, query) {
    const page = await this.page(context, this.front);
    const field = page.locator('input[type="search"]').first();
    if (await field.count()) {
      await field.fill(query);
      await field.press("Enter");
      const mark = page.locator("main .hits mark").first();
      await mark.waitFor({ timeout: 10000 }).catch(() => this.problem(page.url(), `nothing is found by ${query}, or marked`));
      const found = await page.evaluate(eye.survey);
      for (const what of found.problems) this.problem(page.url(), what);
      for (const link of found.links.filter((link) => link.startsWith(this.base))) await this.leads(page.url(), link.split("#")[0]);
      await this.judge(page, page.url());
      await this.shoot(page, `search-${this.queries.indexOf(query)}`);
    } else {
      this.problem(this.base, "there is no field to search with");
    }
    await page.close();
  }

  /** Prints a round: a page of its own for each poem, after one with what the round is. */
  async print(context, { url }) {
    const page = await this.page(context, url);
    const poems = await page.locator("ol.entries > li").count();
    const long = await page.evaluate(() => [...document.querySelectorAll(".entries .waka")].some((poem) => poem.textContent.length > 100));
    await page.emulateMedia({ media: "print" });
    const shown = await page.evaluate(() => [...document.querySelectorAll(".top, .foot, nav, form, button")].filter((one) => one.getClientRects().length).length);
    if (shown) this.problem(url, `${shown} things that only a screen can use are printed`);
    await page.evaluate(() => Promise.all([...document.images].map((image) => { image.loading = "eager"; return image.decode().catch(() => {}); })));
    const sheets = (await page.pdf({ format: "A4" })).toString("latin1").match(/\/Type\s*\/Page\b(?!s)/g).length;
    if (long ? sheets < poems + 1 : sheets !== poems + 1) this.problem(url, `${poems} poems are printed on ${sheets} sheets`);
    await page.close();
  }

  async narrow(urls) {
    const context = await this.open({ viewport: { width: 320, height: 640 }, reducedMotion: "reduce" });
    for (const [at, url] of urls.entries()) {
      const page = await this.page(context, url);
      for (const what of (await page.evaluate(eye.survey)).problems) this.problem(url, `at 320 px: ${what}`);
      const moving = await page.evaluate(() => [...document.querySelectorAll("*")].some((one) => parseFloat(getComputedStyle(one).transitionDuration) > 0));
      if (moving) this.problem(url, "something moves although less motion is wished for");
      await this.shoot(page, `320-${at}`);
      await page.close();
    }
    await context.close();
  }

  async dark(urls) {
    const context = await this.open({ colorScheme: "dark" });
    for (const [at, url] of urls.entries()) {
      const page = await this.page(context, url);
      await this.judge(page, url);
      const light = await page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).slice(0, 3).every((part) => part > 128));
      if (light) this.problem(url, "it is light in the dark");
      await this.shoot(page, `dark-${at}`);
      await page.close();
    }
    await context.close();
  }

  /** Looks at pages without script: front, round and poem, and a search that was asked for by its address. */
  async withoutScript([front, round, poem]) {
    const context = await this.open({ javaScriptEnabled: false });
    const shows = { [front]: "main a[href*='rounds/']", [round]: "ol.entries .waka", [poem]: ".waka" };
    // Where nobody answers, the page says what to do instead.
    shows[`${this.base}search${this.isServed ? "" : "/index.html"}?q=%E3%81%AE`] = this.isServed ? ".hits mark" : "noscript p.alert";
    for (const [url, what] of Object.entries(shows)) {
      const page = await this.page(context, url);
      for (const seen of ["h1", what]) if (!(await page.locator(seen).first().isVisible())) this.problem(url, `without script there is no ${seen}`);
      for (const button of await page.locator("button:not([type=submit])").all()) {
        if (await button.isVisible()) this.problem(url, "without script there is a button that does nothing");
      }
      await page.close();
    }
    await context.close();
  }
}
