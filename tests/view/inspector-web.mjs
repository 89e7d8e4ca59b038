// Shows the view in the MCP Inspector's web client: inspector-web.mjs CLIENT TOKEN SERVER FOLDER
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const { chromium } = createRequire(`${process.cwd()}/.tools/browser/`)("playwright-core");
const [client, token, server, folder] = process.argv.slice(2);

// Its link decodes letters beyond ASCII wrongly, so the round is named by its number.
const given = Buffer.from(JSON.stringify({ round_title: "1", rank_range: "1-2" })).toString("base64url");
const link = new URL(client);
const asked = { serverUrl: server, transport: "http", autoConnect: token, openApp: "get_wakashu_ranking", appArgs: given, autoOpen: token };
for (const [name, value] of Object.entries(asked)) link.searchParams.set(name, value);

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1200, height: 900 }, locale: "ja-JP" });
const refused = [];
page.on("console", (line) => { if (/Content Security Policy/i.test(line.text())) refused.push(line.text()); });
page.on("dialog", (dialog) => { refused.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });

// It takes a moment to start.
for (let tried = 0; ; tried += 1) {
  try { await page.goto(link.href); break; } catch (error) { if (tried === 100) throw error; }
  await new Promise((resolve) => setTimeout(resolve, 200));
}
await page.locator('[data-app-status="ready"]').waitFor({ timeout: 60000 });
let view = null;
for (let tried = 0; !view && tried < 300; tried += 1) {
  for (const frame of page.frames()) if (await frame.locator(".waka").count().catch(() => 0)) view = frame;
  if (!view) await page.waitForTimeout(100);
}
assert.ok(view, "the view shows no poem");
assert.equal(await view.locator(".by .rank").first().innerText(), "1位");
assert.equal(await view.locator(".waka").first().evaluate((poem) => getComputedStyle(poem).writingMode), "vertical-rl");
await view.waitForFunction(() => document.querySelector(".picture img")?.naturalWidth > 0, null, { timeout: 10000 });
// Paging goes through the Inspector: the third was not in the answer.
for (const rank of ["2位", "3位"]) {
  await view.locator("#next").click();
  await view.waitForFunction((rank) => document.querySelector(".by .rank")?.innerText === rank, rank, { timeout: 10000 });
}
assert.deepEqual(refused.filter((line) => !line.includes("frame-ancestors")), []);
await page.screenshot({ path: `${folder}/inspector.png` });
await browser.close();
console.log("ok      the view in the MCP Inspector's web client: poem, picture, paging");
