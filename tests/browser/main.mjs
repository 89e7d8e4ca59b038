// Looks at sites: `NAME ENDPOINT FOLDER`… as they are served and exported, or `folder FOLDER` for one that was exported.
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { hosted } from "./host.mjs";
import { Site } from "./site.mjs";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const { chromium } = createRequire(path.join(root, ".tools/browser/"))("playwright-core");

const given = process.argv.slice(2);
const looks = [];
if (given[0] === "folder") {
  looks.push(...exported("the folder", given[1]));
} else {
  for (let at = 0; at < given.length; at += 3) {
    const [name, endpoint, folder] = given.slice(at, at + 3);
    looks.push({ name: `${name}, served`, base: endpoint.replace(/mcp$/, ""), isServed: true, ...kind(name) });
    looks.push(...exported(name, folder));
  }
}

function exported(name, folder) {
  const files = { name: `${name}, as files`, base: `${pathToFileURL(path.resolve(folder)).href}/` };
  return [files, { name: `${name}, on a static host`, folder }].map((look) => ({ ...look, ...kind(name) }));
}

/** Says how much of a collection is looked at, and what is looked for in it. */
function kind(name) {
  return { isLarge: name === "large", queries: name === "hostile" ? ["の", "alert", "account:script"] : ["の"] };
}

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
let failed = 0;
for (const look of looks) {
  const started = Date.now();
  const host = look.folder && (await hosted(look.folder, "/some/where/"));
  const site = new Site(browser, { ...look, base: host ? host.url : look.base });
  await site.look();
  host?.close();
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  console.log(`${look.name}: ${site.pages} pages in the browser, ${site.links} addresses followed, ${site.problems.length} problems, ${seconds} s`);
  for (const problem of site.problems.slice(0, 20)) console.log(`  ${problem}`);
  failed += site.problems.length;
}
await browser.close();
process.exit(failed ? 1 : 0);
