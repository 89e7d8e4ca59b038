// Asks an exported site's search from outside a browser: `node ask.js SITE`, queries as JSON on stdin, answers on stdout.
"use strict";
const fs = require("fs"), path = require("path"), vm = require("vm");

const site = process.argv[2];
const page = fs.readFileSync(path.join(site, "search/index.html"), "utf8");
const run = (file) => vm.runInThisContext(fs.readFileSync(path.join(site, file), "utf8"), file);
// As the page names them.
run(/src="\.\.\/(assets\/search-[0-9a-f]{16}\.js)"/.exec(page)[1]);
const loaded = new Set();
const load = async (files) => files.filter((file) => !loaded.has(file)).forEach((file) => { loaded.add(file); run(file); });

(async () => {
  await load([/data-index="([^"]+)"/.exec(page)[1]]);
  const answers = [];
  for (const query of JSON.parse(fs.readFileSync(0, "utf8"))) {
    const found = await globalThis.wakashuLookup.ask(query, 0, 50, load);
    answers.push(found.refused || {
      total: found.total,
      hits: found.hits.map(({ round, entry, isLoose, marked }) => ({
        round: round.title, rank: entry.rank, match: isLoose ? "loose" : "exact",
        marked: marked && { field: marked.field, text: entry[marked.field].slice(...marked.range) },
      })),
    });
  }
  console.log(JSON.stringify(answers));
})();
