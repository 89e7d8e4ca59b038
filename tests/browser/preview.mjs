// Looks over a curator's shoulder: `INDEXER FOLDER`, a preview of a collection that is broken, mended, and watched meanwhile.
import { spawn } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import readline from "node:readline";
import { fileURLToPath } from "node:url";
import * as eye from "./eye.mjs";
import { Site } from "./site.mjs";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const { chromium } = createRequire(path.join(root, ".tools/browser/"))("playwright-core");
const [indexer, folder] = process.argv.slice(2);
const text = path.join(folder, "第1回/1-Laptop/TextData1.json");
const sound = fs.readFileSync(text, "utf8");

const preview = spawn(indexer, ["preview", folder, "--watch", "--port", "0", "--language", "ja"], { stdio: ["ignore", "pipe", "ignore"] });
const base = (await readline.createInterface({ input: preview.stdout })[Symbol.asyncIterator]().next()).value;
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const site = new Site(browser, { name: "preview", base, isServed: true });
const url = `${base}rounds/${encodeURIComponent("第1回")}/1`;
const context = await site.open();
const page = await site.page(context, url);
const banner = page.locator("aside.findings");
const expect = (holds, what) => holds || site.problem(url, what);

expect((await banner.count()) === 0, "there is something to mend in the sample");
let loads = 0;
page.on("load", () => { loads += 1; });

fs.writeFileSync(text, sound.replace('"Prompt"', '"Promt"'));
await banner.waitFor({ timeout: 60000 }).catch(() => site.problem(url, "the page does not show what is wrong"));
expect(loads === 1, `the page was loaded ${loads} times for one change`);
const said = await banner.innerText();
for (const words of ["エラー 1 件", "第1回/1-Laptop/TextData1.json:", "直し方: 「Promt」は"]) expect(said.includes(words), `it does not say ${words}: ${said}`);
for (const what of (await page.evaluate(eye.survey)).problems) site.problem(url, what);
await site.judge(page, url);
await site.shoot(page, "light");
const narrow = await site.open({ viewport: { width: 360, height: 740 } });
const small = await site.page(narrow, url);
for (const what of (await small.evaluate(eye.survey)).problems) site.problem(url, `at 360 px: ${what}`);
await site.shoot(small, "360");
await narrow.close();
const dark = await site.open({ colorScheme: "dark" });
const another = await site.page(dark, base);
await site.judge(another, base);
await site.shoot(another, "dark");
await dark.close();
const plain = await site.open({ javaScriptEnabled: false });
expect(await (await site.page(plain, url)).locator("aside.findings li").first().isVisible(), "without script nothing is said");
await plain.close();

fs.writeFileSync(text, sound.replace("ひさかたの", "ひさかたや"));
await page.getByText("ひさかたや").first().waitFor({ timeout: 60000 }).catch(() => site.problem(url, "what was mended is not shown"));
expect((await banner.count()) === 0, "what was mended is still shown");
expect(loads === 2, `the page was loaded ${loads} times for two changes`);
await page.waitForTimeout(1500);
expect(loads === 2, "the page loads itself again and again");
for (const what of (await page.evaluate(eye.survey)).problems) site.problem(url, what);

await browser.close();
preview.kill();
console.log(`preview: ${site.pages} pages in the browser, ${site.problems.length} problems`);
for (const problem of site.problems) console.log(`  ${problem}`);
process.exit(site.problems.length ? 1 : 0);
