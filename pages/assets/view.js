// The view inside a conversation. It speaks to the host that shows it by messages (MCP Apps, 2026-01-26) and fills the markup
// of the page's templates by text alone. Hosts differ in what they send and when: nothing here relies on an order.
(() => {
  "use strict";

  const WORDS = {
    ja: {
      title: "和歌集", rank: (rank) => `${rank}位`, prompt: "絵のプロンプト", honka: "本歌", yomi: "よみ", poem: "歌", more: "そのほか",
      alt: (account) => `${account}の歌に添えた絵`, ranks: "ほかの順位", previous: "前の歌", next: "次の歌",
      loading: "歌を待っています…", waiting: "読み込んでいます…", cancelled: "取り消されました。", again: "もう一度読む",
      empty: "ここに示せる歌がありません。会話の文章をご覧ください。", alone: "この画面は、会話アプリの中で歌を示すためのものです。",
      rounds: "回の一覧", back: "一覧に戻る", further: "続きを見る", give: "会話に渡す", given: "会話に渡しました。",
      kept: "次の発言のときに、この歌が伝わります。", refused: "会話に渡せませんでした。", full: "大きく見る", inline: "元の大きさに戻す",
      giving: "次の歌について話したいです。", failed: "読み込めませんでした。もう一度お試しください。", unseen: "絵を表示できませんでした。",
      closed: (address) => `リンクを開けませんでした。${address}`, poems: (count) => `${count}首`, shown: (rank, account) => `${rank}位、${account}の歌`,
    },
    en: {
      title: "Poems", rank: (rank) => `No. ${rank}`, prompt: "Prompt of the picture", honka: "Answers to", yomi: "Reading", poem: "Poem", more: "More",
      alt: (account) => `Picture for the poem by ${account}`, ranks: "Other ranks", previous: "Previous poem", next: "Next poem",
      loading: "Waiting for poems…", waiting: "Loading…", cancelled: "Cancelled.", again: "Read again",
      empty: "There is no poem to show here. Please read the text of the conversation.", alone: "This page shows poems inside a chat program.",
      rounds: "All rounds", back: "Back to the list", further: "Show more", give: "Give to the chat", given: "Given to the chat.",
      kept: "The chat will know this poem with your next message.", refused: "The chat did not take the poem.", full: "Full screen", inline: "Original size",
      giving: "I would like to talk about this poem.", failed: "Could not load it. Please try again.", unseen: "The picture cannot be shown.",
      closed: (address) => `The link could not be opened. ${address}`, poems: (count) => `${count} poems`, shown: (rank, account) => `No. ${rank}, poem by ${account}`,
    },
  };
  const LABEL = "ジャケット生成に使ったプロンプト";
  const PICTURES = ["image/png", "image/jpeg", "image/webp", "image/gif"];
  const QUICK_MS = 1500, SLOW_MS = 4000, LONG_MS = 15000, ANSWER_MS = 30000, PERSON_MS = 300000, KEPT_ENTRIES = 40, SHORT_POEM = 64;

  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  const main = byId("main"), status = byId("status");
  let words = WORDS.ja;
  let context = {}, abilities = {};
  let asked = null, tool = "", round = "", bounds = null, hits = null, rounds = null;
  let entries = new Map(), missing = new Set(), remarks = [], current = null;
  let state = "loading", received = "", turn = 0, timer = 0, ended = false;

  // The bridge.

  const waiting = new Map();
  let lastId = 0;
  const post = (message) => { if (!ended) parent.postMessage({ jsonrpc: "2.0", ...message }, "*"); };
  const notify = (method, params) => post({ method, params });
  const ask = (method, params, patience = ANSWER_MS) => new Promise((resolve, reject) => {
    const id = ++lastId;
    const late = setTimeout(() => { waiting.delete(id); reject(new Error("late")); }, patience);
    waiting.set(id, (message) => {
      clearTimeout(late);
      if (message.error) reject(new Error(String(message.error.message))); else resolve(message.result || {});
    });
    post({ id, method, params });
  });
  const NOTES = {
    "ui/notifications/tool-input-partial": () => wait(),
    "ui/notifications/tool-input": (params) => { take(params.arguments); wait(); },
    "ui/notifications/tool-result": (params) => receive(params),
    "ui/notifications/tool-cancelled": () => { clearTimeout(timer); if (state === "loading") show("cancelled"); },
    "ui/notifications/host-context-changed": (params) => adopt(params),
  };
  addEventListener("message", (event) => {
    const message = event.data;
    if (event.source !== parent || ended || !message || message.jsonrpc !== "2.0") return;
    if (typeof message.method !== "string") {
      const settle = waiting.get(message.id);
      waiting.delete(message.id);
      if (settle) settle(message);
    } else if (message.id === undefined) {
      const note = Object.hasOwn(NOTES, message.method) && NOTES[message.method];
      if (note) note(message.params || {});
    } else if (message.method === "ping" || message.method === "ui/resource-teardown") {
      post({ id: message.id, result: {} });
      if (message.method !== "ping") end();
    } else {
      post({ id: message.id, error: { code: -32601, message: "Method not found" } });
    }
  });

  const isText = (value) => typeof value === "string";
  const canCall = () => Boolean(abilities.serverTools);
  const call = (name, given) => ask("tools/call", { name, arguments: given });

  function end() {
    ended = true;
    clearTimeout(timer);
    sizes.disconnect();
  }

  // What comes in.

  function take(given) {
    if (!given || typeof given !== "object") return;
    asked = given;
    if (!round && isText(given.round_title)) round = given.round_title;
  }

  function adopt(change) {
    context = { ...context, ...change };
    const { theme, styles, displayMode, containerDimensions: room, safeAreaInsets: inset, toolInfo, locale } = context;
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    for (const [name, value] of Object.entries((styles && styles.variables) || {})) {
      if (/^--[a-z0-9-]{1,60}$/.test(name) && isText(value)) root.style.setProperty(name, value);
    }
    const own = { "--ink": "--color-text-primary", "--faint": "--color-text-secondary", "--line": "--color-border-primary", "--leaf": "--color-background-secondary" };
    for (const [name, theirs] of Object.entries(own)) if (root.style.getPropertyValue(theirs)) root.style.setProperty(name, `var(${theirs})`);
    const fonts = styles && styles.css && styles.css.fonts;
    if (isText(fonts)) byId("fonts").textContent = fonts;
    root.dataset.mode = displayMode === "fullscreen" ? "fullscreen" : "inline";
    root.dataset.filled = room && room.height > 0 && displayMode !== "fullscreen" ? "yes" : "no";
    for (const side of ["top", "right", "bottom", "left"]) {
      const size = Number(inset && inset[side]);
      root.style.setProperty(`--inset-${side}`, `${size > 0 && size < 500 ? size : 0}px`);
    }
    if (toolInfo) {
      tool = (toolInfo.tool && toolInfo.tool.name) || tool;
      if (!asked) take(toolInfo.arguments || (toolInfo.tool && toolInfo.tool.arguments));
    }
    const spoken = /^ja\b/i.test(locale || navigator.language || "ja") ? "ja" : "en";
    const other = WORDS[spoken] !== words;
    words = WORDS[spoken];
    root.lang = spoken;
    if (other) render(); else furnish();
    report();
  }

  function receive(result) {
    const found = read(result);
    if (!found) return;
    const key = JSON.stringify([found.entries.map((entry) => entry.text), found.hits, found.rounds, found.remarks]);
    const isSame = key === received;
    clearTimeout(timer);
    if (isSame) {
      // Delivered again: a picture may have come along that was not there before.
      for (const entry of found.entries) {
        const known = entries.get(entry.rank);
        if (known && !known.picture && entry.picture) { known.picture = entry.picture; if (current === entry.rank) render(); }
      }
      return;
    }
    received = key;
    turn++;
    remarks = found.remarks;
    if (found.hits) { hits = found.hits; rounds = null; entries = new Map(); show("hits"); return; }
    if (found.rounds) { rounds = found.rounds; show("rounds"); return; }
    if (!found.entries.length) { show(found.isError ? "error" : "words"); return; }
    const told = found.entries.map((entry) => entry.round).find(Boolean);
    if (told) round = told;
    hits = null;
    entries = new Map();
    missing = new Set();
    bounds = null;
    keep(found.entries);
    open(found.entries[0].rank);
    survey();
  }

  /** Reads a tool's result; null if there is nothing in it. */
  function read(result) {
    const blocks = Array.isArray(result && result.content) ? result.content : [];
    const data = result && result.structuredContent;
    const found = { entries: [], remarks: [], hits: null, rounds: null, isError: Boolean(result && result.isError) };
    let last = null;
    for (const block of blocks) {
      if (!block) continue;
      if (block.type === "text" && isText(block.text) && block.text.trim()) {
        const entry = readEntry(block.text);
        if (entry) { found.entries.push(entry); last = entry; } else found.remarks.push(block.text);
      } else if (block.type === "image" && last && !last.picture) {
        last.picture = readPicture(block);
      }
    }
    if (found.isError || found.entries.length) return blocks.length ? found : null;
    if (data && Array.isArray(data.hits)) found.hits = readHitData(data);
    else if (data && Array.isArray(data.rounds)) found.rounds = data.rounds.map(readRound).filter(Boolean);
    else if (found.remarks.length && /件見つかりました|^見つかりませんでした|^続きはありません/.test(found.remarks[0])) found.hits = readHitText(found.remarks[0]);
    else if (found.remarks.length && /^「[^]*」には\d+回分の投稿があります/.test(found.remarks[0])) found.rounds = readRoundText(found.remarks[0]);
    if (found.hits || found.rounds) found.remarks = [];
    return found.hits || found.rounds || found.remarks.length ? found : null;
  }

  /** Reads an entry: rank and account, poem, works answered, prompt and the rest, address of the picture, line by line. */
  function readEntry(text) {
    const head = /^([1-9]\d{0,5})位：([^\n]*)(?:\n|$)/.exec(text);
    if (!head) return null;
    const entry = { rank: Number(head[1]), account: head[2], text, honka: [], rest: [], prompt: "", link: "", round: "", picture: null, isBare: false };
    const lines = text.slice(head[0].length).split("\n");
    const last = lines[lines.length - 1];
    if (last.startsWith("画像: ")) {
      lines.pop();
      entry.isBare = last === "画像: なし";
      entry.link = webAddress(last.slice(4));
      entry.round = segment(/\/pictures\/([^/?#]+)\/\d+(?:[?#]|$)/.exec(entry.link));
    }
    const rest = /^続きはリソース wakashu:\/\/rounds\/([^/]+)\/\d+ で読めます。$/.exec(lines[lines.length - 1] || "");
    entry.round = entry.round || segment(rest);
    const label = lines.indexOf(LABEL);
    const before = label < 0 ? lines : lines.slice(0, label);
    entry.prompt = label < 0 ? "" : lines.slice(label + 1).join("\n");
    // The poem comes first, whatever it looks like.
    const links = before.findIndex((line, at) => at > 0 && webAddress(line));
    entry.poem = (links < 0 ? before : before.slice(0, links)).join("\n");
    for (const line of links < 0 ? [] : before.slice(links)) (outward(line) ? entry.honka : entry.rest).push(line);
    return entry;
  }

  function segment(match) {
    try { return match ? decodeURIComponent(match[1]) : ""; } catch { return ""; }
  }

  /** Reads a picture in the protocol's shape or in that of Anthropic's messages; null if a browser would not show it. */
  function readPicture(block) {
    const source = block.source || {};
    const type = block.mimeType || source.media_type, data = block.data || source.data;
    const isSound = PICTURES.includes(type) && isText(data) && /^[A-Za-z0-9+/]+={0,2}$/.test(data);
    return isSound ? `data:${type};base64,${data}` : null;
  }

  const inText = (value) => (isText(value) ? value : "");
  const whole = (value) => (Number.isInteger(value) && value > 0 && value < 1e6 ? value : 0);

  function readHitData(data) {
    const list = data.hits.filter((hit) => hit && isText(hit.round) && whole(hit.rank) && isText(hit.poem)).map((hit) => {
      const marked = hit.marked && isText(hit.marked.text) && hit.marked.field;
      const parts = (name) => {
        const text = inText(hit[name]), at = marked === name ? text.indexOf(hit.marked.text) : -1;
        return at < 0 ? [text] : [text.slice(0, at), hit.marked.text, text.slice(at + hit.marked.text.length)];
      };
      return { round: hit.round, rank: hit.rank, account: parts("account"), poem: parts("poem"), yomi: parts("yomi") };
    });
    return { note: inText(data.note), list, cursor: inText(data.nextCursor) };
  }

  function readHitText(text) {
    const [note, ...parts] = text.split("\n\n");
    const found = { note, list: [], cursor: "" };
    for (const part of parts) {
      const head = /^([^\n]+) ([1-9]\d{0,5})位：([^\n]*)\n/.exec(part), more = /^続きがあります。cursor に "([\w-]+)"/.exec(part);
      const last = found.list[found.list.length - 1];
      if (more) { found.cursor = more[1]; continue; }
      if (!head) { if (last) last.body += `\n\n${part}`; continue; }
      found.list.push({ round: head[1], rank: Number(head[2]), account: halves(head[3]), body: part.slice(head[0].length) });
    }
    for (const hit of found.list) {
      const [poem, yomi] = hit.body.replace(/\n（表記ゆれを含む一致）$/, "").split(/\nよみ: (?=[^\n]*$)/);
      hit.poem = halves(poem);
      hit.yomi = halves(yomi || "");
    }
    return found;
  }

  const halves = (text) => { const match = /^([^]*?)【([^]*?)】([^]*)$/.exec(text); return match ? match.slice(1) : [text]; };

  function readRound(one) {
    return one && isText(one.title) ? { title: one.title, when: [one.start, one.end].filter(isText).join("〜"), entries: whole(one.entries), first: whole(one.firstRank), last: whole(one.lastRank), number: whole(one.number) } : null;
  }

  function readRoundText(text) {
    const matches = text.split("\n").map((line) => /^(.+?)(?:（(\d{4}-[\d〜-]+)）)?: (\d+)首$/.exec(line)).filter(Boolean);
    return matches.map(([, title, when, entries]) => ({ title, when: when || "", entries: Number(entries), first: 0, last: 0, number: 0 }));
  }

  /** Returns an address of the web as it may be opened; empty if the text is none or would pass for another. */
  function webAddress(text) {
    if (!/^https?:\/\/[^\s\\\u0000-\u0020\u007f-\u009f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]+$/i.test(text)) return "";
    try {
      const url = new URL(text);
      return url.username || url.password ? "" : url.href;
    } catch { return ""; }
  }

  /** Splits an address that leads outwards, as the pages do: the host without a port, and what follows; else null. */
  function outward(text) {
    const parts = /^https?:\/\/([\p{Alphabetic}\p{N}._-]+)(?::\d*)?([/?#].*)?$/iu.exec(text);
    return parts && webAddress(text) ? { host: parts[1], rest: parts[2] || "" } : null;
  }

  // Asking the server.

  /** Waits for a result a while longer, and then asks for it. */
  function wait() {
    clearTimeout(timer);
    if (state === "loading") timer = setTimeout(fetchAsked, !canCall() ? LONG_MS : asked ? QUICK_MS : SLOW_MS);
  }

  async function fetchAsked() {
    if (state !== "loading") return;
    if (!canCall()) { show(asked || tool ? "empty" : "loading"); return; }
    const given = asked || {};
    const name = /^(get_wakashu_ranking|get_poem|search_poems)$/.test(tool) && asked ? tool
      : isText(given.query) ? "search_poems" : given.rank !== undefined ? "get_poem"
      : isText(given.round_title) ? "get_wakashu_ranking" : "list_rounds";
    await fetchInto(name, name === "list_rounds" ? {} : given);
  }

  async function fetchInto(name, given) {
    const mine = ++turn;
    main.setAttribute("aria-busy", "true");
    let result = null;
    try { result = await call(name, given); } catch { /* told below */ }
    main.removeAttribute("aria-busy");
    if (mine !== turn || ended) return false;
    if (!result || !read(result)) { if (state === "loading") show("failed"); else announce(words.failed, true); return false; }
    received = "";
    receive(result);
    return true;
  }

  /** Asks how far the round goes, once it is known which one it is. */
  async function survey() {
    if (!canCall() || !round || bounds) return;
    const mine = turn;
    let found = null;
    try { found = read(await call("list_rounds", { limit: 100 })); } catch { return; }
    if (mine !== turn || !found || !found.rounds) return;
    const [, number] = /^第? ?(\d+) ?回?$/.exec(round.normalize("NFKC").trim()) || [];
    const one = found.rounds.find((one) => one.title === round) || found.rounds.find((one) => one.number && one.number === Number(number));
    if (one && one.first) { bounds = one; round = one.title; furnish(); }
  }

  /** Opens an entry of the round, which is asked for if it is not there. */
  async function go(rank, where = round) {
    if (where === round && entries.has(rank)) { turn++; open(rank, true); return; }
    if (!canCall()) return;
    const mine = ++turn;
    main.setAttribute("aria-busy", "true");
    announce(words.waiting);
    let result = null;
    try { result = await call("get_poem", { round_title: where, rank }); } catch { /* told below */ }
    main.removeAttribute("aria-busy");
    if (mine !== turn || ended) return;
    const found = result && read(result);
    if (!found || !found.entries.length) {
      if (found && found.isError && where === round) { missing.add(rank); furnish(); }
      announce((found && found.remarks[0]) || words.failed, true);
      return;
    }
    if (where !== round) { round = where; entries = new Map(); missing = new Set(); bounds = null; }
    remarks = found.remarks;
    keep(found.entries);
    open(found.entries[0].rank, true);
    survey();
  }

  /** Asks for the picture of an entry whose text came without. */
  async function fetchPicture(entry) {
    if (entry.picture || entry.isBare || entry.wasSought || !canCall() || !round || (asked && asked.pictures === "none")) return;
    entry.wasSought = true;
    let found = null;
    try { found = read(await call("get_poem", { round_title: round, rank: entry.rank })); } catch { /* shown without */ }
    const full = found && found.entries.find((one) => one.rank === entry.rank && one.account === entry.account);
    if (!full || !full.picture || ended) return;
    entry.picture = full.picture;
    if (entries.get(entry.rank) === entry && current === entry.rank && state === "poem") render();
  }

  function keep(list) {
    for (const entry of list) entries.set(entry.rank, entry);
    for (const rank of entries.keys()) {
      if (entries.size <= KEPT_ENTRIES) break;
      if (rank !== current && !list.some((entry) => entry.rank === rank)) entries.delete(rank);
    }
  }

  // What is shown.

  const bare = (text) => text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g, "\ufffd");

  function make(name, className, ...inside) {
    const element = document.createElement(name);
    if (className) element.className = className;
    element.append(...inside);
    return element;
  }

  function button(className, label, act) {
    const element = make("button", className, label);
    element.type = "button";
    element.addEventListener("click", act);
    return element;
  }

  /** Sets a text with its line breaks. */
  function setLines(element, text, write = (line) => [bare(line)]) {
    element.replaceChildren();
    text.split(/\r\n|\r|\n/).forEach((line, at) => element.append(...(at ? [make("br")] : []), ...write(line)));
  }

  /** Sets a line of a vertical poem: short numbers and doubled marks stand upright. */
  function vertical(line) {
    const isUpright = (run) => /^(?:\d{1,2}|!|\?|!!|!\?|\?!|\?\?)$/.test(run);
    return line.split(/([!-~]+)/).filter(Boolean).map((run) => (isUpright(run) ? make("span", "upright", run) : bare(run)));
  }

  function show(next) {
    state = next;
    render();
  }

  function open(rank, isTold) {
    current = rank;
    const entry = entries.get(rank);
    show("poem");
    if (isTold) announce(words.shown(rank, entry.account));
    fetchPicture(entry);
  }

  function announce(text, isPlain) {
    status.textContent = bare(text);
    status.classList.toggle("hushed", !isPlain);
    report();
  }

  function render() {
    const drawn = { poem: drawPoem, hits: drawHits, rounds: drawRounds }[state] || drawWords;
    status.textContent = "";
    // A poem has a heading of its own.
    const heading = state === "poem" ? [] : [make("h1", "hushed", words[state === "rounds" ? "rounds" : "title"])];
    main.replaceChildren(...heading, ...drawn());
    furnish();
    report();
  }

  function drawWords() {
    const isWaiting = state === "loading" || state === "waiting";
    const list = state === "error" || state === "words" ? remarks : [words[state] || words.empty];
    const parts = list.map((text) => { const p = make("p", state === "error" || state === "failed" ? "alert" : isWaiting ? "quiet waiting" : "quiet"); setLines(p, text); return p; });
    if (!isWaiting && canCall()) {
      const more = make("p", "more");
      if (state !== "error" && asked) more.append(button("plain", words.again, () => { state = "loading"; render(); fetchAsked(); }));
      more.append(button("plain", words.rounds, () => fetchInto("list_rounds", {})));
      parts.push(more);
    }
    return parts;
  }

  function drawPoem() {
    const entry = entries.get(current);
    const leaf = byId("leaf").content.firstElementChild.cloneNode(true);
    const part = (selector) => leaf.querySelector(selector);
    leaf.lang = "ja";
    part(".by .rank").textContent = words.rank(entry.rank);
    part(".by bdi").textContent = bare(entry.account);
    const poem = part(".waka");
    setLines(poem, entry.poem, vertical);
    poem.classList.toggle("long", [...entry.poem].length > SHORT_POEM);
    part(".scroll").setAttribute("aria-label", words.poem);
    drawPicture(entry, leaf, part(".picture"));
    const [yomi, honka] = leaf.querySelectorAll(".about > section"), [prompt, more] = leaf.querySelectorAll(".about > details");
    yomi.remove();
    const first = honka.querySelector("li");
    for (const text of entry.honka) first.before(drawHonka(first.cloneNode(true), text));
    first.remove();
    honka.querySelector("h2").textContent = words.honka;
    if (!entry.honka.length) honka.remove();
    fold(prompt, words.prompt, entry.prompt);
    fold(more, words.more, entry.rest.join("\n"));
    const notes = remarks.map((text) => { const p = make("p", "quiet remark"); setLines(p, forPeople(text)); return p; });
    if (!part(".about").children.length) part(".about").remove();
    return [leaf, ...notes];
  }

  function fold(details, title, text) {
    if (!text.trim()) { details.remove(); return; }
    details.querySelector("summary").textContent = title;
    setLines(details.querySelector("p"), text);
  }

  function drawPicture(entry, leaf, figure) {
    if (!entry.picture) { figure.remove(); leaf.classList.add("bare"); return; }
    const image = figure.querySelector("img"), link = figure.querySelector("a");
    image.alt = words.alt(bare(entry.account)) + (entry.prompt ? `：${bare(entry.prompt).split("\n")[0].slice(0, 120)}` : "");
    image.addEventListener("error", () => { figure.remove(); leaf.classList.add("bare"); announce(words.unseen, true); });
    image.addEventListener("load", report);
    image.src = entry.picture;
    if (entry.link) link.href = entry.link;
  }

  function drawHonka(item, text) {
    const link = item.querySelector("a"), rest = item.querySelector(".rest");
    const found = outward(text);
    link.href = webAddress(text);
    link.querySelector("bdi").textContent = found.host;
    let path = found.rest;
    try { path = decodeURIComponent(path); } catch { /* as it is */ }
    if (/[\s\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/.test(path)) path = found.rest;
    rest.textContent = path.replace(/^\/+|\/+$/g, "").slice(0, 80);
    return item;
  }

  function mark(element, parts) {
    const [before, found, after] = parts.map((part) => bare(part).replace(/\r\n|\r|\n/g, "\u3000"));
    element.append(before, ...(found === undefined ? [] : [make("mark", "", found), after]));
    return element;
  }

  /** Leaves out what only a model can do. */
  const forPeople = (text) => text.replace(/（[\d〜]+件目を表示）|全文と画像は get_poem で見られます。|続きは rank_range に "[\d-]+" を指定してください。/g, "");

  function drawHits() {
    const list = make("ol", "rows");
    for (const hit of hits.list) {
      const line = canCall() ? button("line", "", () => go(hit.rank, hit.round)) : make("p", "line");
      line.lang = "ja";
      const by = make("p", "quiet", make("bdi", "", bare(hit.round)), " ", make("span", "rank", words.rank(hit.rank)), " ", mark(make("bdi"), hit.account));
      if (hit.yomi[0] || hit.yomi[1]) by.append(make("br"), mark(make("span"), hit.yomi));
      list.append(make("li", "row", mark(line, hit.poem), by));
    }
    const note = make("p", "quiet tally");
    setLines(note, forPeople(hits.note));
    const more = hits.cursor && canCall() && asked && isText(asked.query);
    return [note, list, ...(more ? [make("p", "more", button("plain", words.further, further))] : [])];
  }

  async function further() {
    const before = hits, mine = ++turn;
    let found = null;
    try { found = read(await call("search_poems", { ...asked, cursor: before.cursor })); } catch { /* told below */ }
    if (mine !== turn || hits !== before) return;
    if (!found || !found.hits) { announce(words.failed, true); return; }
    hits = { note: before.note, list: [...before.list, ...found.hits.list], cursor: found.hits.cursor };
    render();
    main.querySelectorAll(".line")[before.list.length]?.focus();
  }

  function drawRounds() {
    const list = make("ol", "rows");
    for (const one of rounds) {
      const title = make("bdi", "", bare(one.title));
      const row = canCall() ? button("line", title, () => { asked = { round_title: one.title }; round = one.title; fetchInto("get_wakashu_ranking", asked); }) : make("p", "line", title);
      list.append(make("li", "row", row, make("p", "quiet", [one.when, one.entries ? words.poems(one.entries) : ""].filter(Boolean).join("・"))));
    }
    return [list];
  }

  /** Sets what stands around: the round, the buttons, the other ranks. */
  function furnish() {
    const entry = state === "poem" ? entries.get(current) : null;
    byId("where").textContent = state === "rounds" ? words.rounds : entry ? bare((bounds && bounds.title) || entry.round || round) : "";
    const offer = (id, label, isThere) => { const one = byId(id); one.hidden = !isThere; one.querySelector("span").textContent = label; one.title = label; };
    const modes = context.availableDisplayModes || [], isFull = root.dataset.mode === "fullscreen";
    offer("back", words.back, entry && (hits || rounds));
    offer("give", words.give, entry && (abilities.message || abilities.updateModelContext));
    offer("full", isFull ? words.inline : words.full, modes.includes(isFull ? "inline" : "fullscreen"));
    byId("bar").hidden = !byId("where").textContent && ["back", "give", "full"].every((id) => byId(id).hidden);
    const nav = byId("ranks");
    nav.setAttribute("aria-label", words.ranks);
    const all = entry ? reachable() : [];
    nav.hidden = all.length < 2;
    if (nav.hidden) return;
    const at = all.indexOf(current);
    step("previous", words.previous, all[at - 1]);
    step("next", words.next, all[at + 1]);
    const room = Math.max(1, Math.min(9, Math.floor((innerWidth - (innerWidth <= 416 ? 150 : 230)) / 62)));
    const from = Math.max(0, Math.min(at - Math.floor(room / 2), all.length - room));
    const focused = document.activeElement && document.activeElement.dataset.rank;
    byId("strip").replaceChildren(...all.slice(from, from + room).map((rank) => {
      const known = entries.get(rank);
      const chip = button("chip", make("span", "", words.rank(rank)), () => go(rank));
      chip.dataset.rank = String(rank);
      if (rank === current) chip.setAttribute("aria-current", "true");
      if (known && known.picture) { const image = make("img"); image.src = known.picture; image.alt = ""; chip.prepend(image); }
      return make("li", "", chip);
    }));
    if (focused) { const again = byId("strip").querySelector(`[data-rank="${Number(focused)}"]`); if (again) again.focus(); }
  }

  /** Returns the ranks that can be shown, in order: those that are here, and where tools can be called those around. */
  function reachable() {
    const all = new Set(entries.keys());
    if (canCall() && round) {
      const first = bounds ? bounds.first : Math.max(1, current - 1), last = bounds ? bounds.last : current + 1;
      for (let rank = Math.max(first, current - 12); rank <= Math.min(last, current + 12); rank++) if (!missing.has(rank)) all.add(rank);
    }
    return [...all].sort((one, other) => one - other);
  }

  function step(id, label, rank) {
    const one = byId(id);
    // Not `disabled`: that would take the focus away from whoever reaches the last poem with it.
    one.setAttribute("aria-disabled", String(rank === undefined));
    one.dataset.to = rank === undefined ? "" : String(rank);
    one.querySelector(".to").textContent = rank === undefined ? "" : words.rank(rank);
    one.querySelector(".hushed").textContent = label;
  }

  // What readers do.

  for (const id of ["previous", "next"]) byId(id).addEventListener("click", () => { if (byId(id).dataset.to) go(Number(byId(id).dataset.to)); });
  byId("back").addEventListener("click", () => { turn++; show(hits ? "hits" : "rounds"); const first = main.querySelector("button"); if (first) first.focus(); });
  byId("give").addEventListener("click", give);
  byId("full").addEventListener("click", () => resize(root.dataset.mode === "fullscreen" ? "inline" : "fullscreen"));

  addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.defaultPrevented || state !== "poem") return;
    const scroller = event.target.closest && event.target.closest(".scroll");
    const moves = { ArrowLeft: "previous", ArrowRight: "next" }[event.key];
    if (moves && !(scroller && scroller.scrollWidth > scroller.clientWidth) && !byId("ranks").hidden) {
      event.preventDefault();
      byId(moves).click();
    } else if (event.key === "Escape" && root.dataset.mode === "fullscreen") {
      resize("inline");
    }
  });

  // Links lead out through the host alone.
  addEventListener("click", async (event) => {
    const link = event.target.closest && event.target.closest("a[href]");
    if (!link) return;
    event.preventDefault();
    try {
      const answer = await ask("ui/open-link", { url: link.href }, PERSON_MS);
      if (answer.isError) throw new Error("refused");
    } catch { announce(words.closed(link.href), true); }
  });

  async function give() {
    const entry = entries.get(current);
    const place = (bounds && bounds.title) || entry.round || round;
    const text = [words.giving, "", `${place ? `${place} ` : ""}${entry.rank}位：${entry.account}`, entry.poem, ...entry.honka].join("\n").slice(0, 4000);
    const content = [{ type: "text", text }];
    const tries = [[abilities.message, "ui/message", { role: "user", content }, "given"], [abilities.updateModelContext, "ui/update-model-context", { content }, "kept"]];
    for (const [isOffered, method, params, told] of tries) {
      if (!isOffered) continue;
      try {
        const answer = await ask(method, params, PERSON_MS);
        if (!answer.isError) { announce(words[told], true); return; }
      } catch { /* the other way, if there is one */ }
    }
    announce(words.refused, true);
  }

  async function resize(mode) {
    try {
      const answer = await ask("ui/request-display-mode", { mode }, PERSON_MS);
      if (answer.mode) adopt({ displayMode: answer.mode });
    } catch { /* it stays as it is */ }
  }

  // The size: hosts follow what they are told, unless they have set it themselves.

  let told = "";
  function report() {
    if (ended || root.dataset.mode === "fullscreen") return;
    const room = context.containerDimensions || {};
    const needed = Math.ceil(document.body.getBoundingClientRect().height);
    const height = room.maxHeight > 0 ? Math.min(needed, room.maxHeight) : needed, width = Math.ceil(innerWidth);
    if (`${width} ${height}` === told || !needed) return;
    told = `${width} ${height}`;
    notify("ui/notifications/size-changed", { width, height });
  }
  const sizes = new ResizeObserver(report);
  sizes.observe(document.body);
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; furnish(); } });

  async function begin() {
    adopt({});
    render();
    if (parent === window) { show("alone"); return; }
    const appCapabilities = { availableDisplayModes: ["inline", "fullscreen"] };
    const appInfo = { name: "wakashu", version: root.dataset.version };
    try {
      const answer = await ask("ui/initialize", { protocolVersion: "2026-01-26", appInfo, appCapabilities });
      abilities = answer.hostCapabilities || {};
      adopt(answer.hostContext || {});
    } catch { /* a result may come all the same */ }
    notify("ui/notifications/initialized", {});
    told = "";
    report();
    furnish();
    wait();
    if (state === "poem") { survey(); fetchPicture(entries.get(current)); } else if (state !== "loading") render();
  }
  begin();
})();
