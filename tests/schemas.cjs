// What an editor makes of the schemas in indexer/template: the settings of its .vscode decide which file gets which.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { pathToFileURL } = require("node:url");
const { getLanguageService, TextDocument } = require("vscode-json-languageservice");

const root = path.resolve(__dirname, "..");
const template = path.join(root, "indexer/template");
const settings = JSON.parse(fs.readFileSync(path.join(template, ".vscode/settings.json"), "utf8"));

const service = getLanguageService({ schemaRequestService: async (uri) => fs.readFileSync(new URL(uri), "utf8") });
service.configure({
  validate: true,
  schemas: settings["json.schemas"].map(({ fileMatch, url }) => ({ fileMatch, uri: pathToFileURL(path.join(template, url)).href })),
});

/** Opens a text as a file of a data repository. */
function open(name, text) {
  const document = TextDocument.create(pathToFileURL(path.join("/repository", name)).href, "json", 1, text);
  return [document, service.parseJSONDocument(document)];
}

async function problems(name, text) {
  const [document, parsed] = open(name, text);
  return (await service.doValidation(document, parsed)).map(({ message }) => message);
}

/** What is offered at the `|` of a text. */
async function offered(name, text) {
  const at = text.indexOf("|");
  const [document, parsed] = open(name, text.replace("|", ""));
  const { items } = await service.doComplete(document, document.positionAt(at), parsed);
  return new Map(items.map((item) => [item.label.replaceAll('"', ""), item.documentation?.value ?? item.documentation ?? item.detail]));
}

function* jsonFiles(folder) {
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const file = path.join(folder, entry.name);
    if (entry.isDirectory()) yield* jsonFiles(file);
    else if (entry.name.endsWith(".json")) yield file;
  }
}

(async () => {
  let valid = 0;
  for (const collection of ["fixtures/wakashu_dir", "indexer/template/wakashu_dir"]) {
    for (const file of jsonFiles(path.join(root, collection))) {
      const name = path.join("wakashu_dir", path.relative(path.join(root, collection), file));
      // The periods of all rounds, at the root, have a form of their own.
      const text = fs.readFileSync(file, "utf8").replace(/^\s*"\$schema".*\n/m, "");
      assert.deepEqual(await problems(name, text), [], name);
      valid += 1;
    }
  }
  assert.ok(valid > 20, `${valid} samples`);

  const entry = "wakashu_dir/第2回/1-a/TextData1.json";
  const missing = await problems(entry, '{ "AccountName": "@a", "HonkadoriWaka": "歌", "Prompt": "" }');
  assert.equal(missing.length, 1, missing);
  assert.match(missing[0], /Honka/);
  assert.deepEqual(await problems(entry, '{ "AccountName": " ", "HonkadoriWaka": "歌", "Honka": [], "Prompt": "", "詞書": "冬" }'), [
    "アカウント名を書いてください。",
  ]);
  const keys = await offered(entry, '{ "AccountName": "@a", | }');
  for (const key of ["HonkadoriWaka", "Honka", "Yomi", "Prompt"]) assert.match(keys.get(key) ?? "", /[ぁ-ん]/, key);
  assert.ok(!keys.has("AccountName"), "what is there is not offered again");

  const period = "wakashu_dir/第2回/編纂時期.json";
  assert.deepEqual(await problems(period, '"2025年4月"'), []);
  assert.deepEqual(await problems(period, '{ "編纂時期": "令和7年4月", "お題": "春", "下書き": true }'), []);
  assert.equal((await problems(period, '{ "開始": "2025年4月1日" }')).length, 1);
  assert.equal((await problems(period, '{ "下書き": "true" }')).length, 1);
  assert.equal((await problems(period, '{ "講評": 1 }')).length, 1);
  const texts = await offered(period, "{ | }");
  for (const key of ["開始", "終了", "お題", "講評", "下書き"]) assert.match(texts.get(key) ?? "", /[ぁ-ん]/, key);

  const about = "wakashu_dir/和歌集.json";
  assert.equal((await problems(about, '{ "Titel": "春" }')).length, 1);
  assert.ok((await offered(about, "{ | }")).has("Title"));
  console.log(`schemas: ${valid} samples are valid, what is missing is reported, what can be typed is offered`);
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
