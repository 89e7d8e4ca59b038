// Looks for poems in the browser, with the answers that the server gives: archive/src/search_key.rs and
// function/src/served/search.rs, line for line. The tables are generated from there; tests/tests/site/search.rs
// compares hits and sentences.
(function (root) {
  "use strict";

  var T = TABLES;
  var MOST_CHARACTERS = 200, MOST_TERMS = 8, MOST_SPELLINGS = 6, LONG_WORD = 4, LONG_VOWEL_WORD = 3, MOST_PLACES = 256;
  var HITS_ON_A_PAGE = 20, LOOSE = 0x80000000;
  var NO = 0, UNMARKED = 1, LOOSELY = 2, EXACTLY = 3;
  var READING = 1, ACCOUNT = 2;
  var FIRST_KANA = 0x3041;

  // ---- keys

  var old = new Map();
  (function () {
    var forms = Array.from(T.old);
    for (var at = 0; at < forms.length; at += 2) old.set(forms[at], forms[at + 1]);
  })();
  var voiced = new Map(), unvoiced = new Map();
  Array.from(T.voiced).forEach(function (mark, at) {
    var plain = T.unvoiced.charAt(at);
    if (!voiced.has(plain)) voiced.set(plain, mark);
    unvoiced.set(mark, plain);
  });
  var marked = new Set(T.marked);
  var groups = new Map();
  T.groups.forEach(function (group, at) {
    Array.from(group).forEach(function (kana) { groups.set(kana, 0x80 + at); });
  });

  function isIgnored(code) {
    for (var at = 0; at < T.ignored.length; at += 2) if (code <= T.ignored[at + 1]) return code >= T.ignored[at];
    return false;
  }

  function isKana(character) { return character >= "ぁ" && character <= "ゖ" && character.length === 1; }

  var segmenter = typeof Intl === "object" && Intl.Segmenter && new Intl.Segmenter("ja", { granularity: "grapheme" });

  /** Returns the graphemes of a text; without the browser's help, each character with the marks that follow it. */
  function graphemes(text) {
    if (segmenter) return Array.from(segmenter.segment(text), function (part) { return part.segment; });
    return text.match(/\r\n|\P{M}\p{M}*|\p{M}+/gu) || [];
  }

  function utf8(code) { return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4; }

  function bytes(text) {
    var count = 0;
    for (var character of text) count += utf8(character.codePointAt(0));
    return count;
  }

  /** Makes the exact key of a text: its characters, and for each which part of the text it came from. */
  function keyOf(text) {
    var key = [], pieces = [], at = 0, length = 0;
    for (var grapheme of graphemes(text)) {
      var before = key.length, isIteration = false, end = at + grapheme.length;
      if (grapheme !== "\n") {
        for (var character of grapheme.normalize("NFKC")) {
          for (var letter of character.toLowerCase()) {
            if ((letter >= "ァ" && letter <= "ヶ") || letter === "ヽ" || letter === "ヾ") {
              letter = String.fromCharCode(letter.charCodeAt(0) - 0x60);
            }
            var last = key[key.length - 1];
            if (letter === "ゝ" || letter === "々" || letter === "〻") {
              isIteration = true;
              if (last !== undefined) key.push(letter === "ゝ" && unvoiced.has(last) ? unvoiced.get(last) : last);
            } else if (letter === "ゞ") {
              isIteration = true;
              if (last !== undefined) key.push(voiced.has(last) ? voiced.get(last) : last);
            } else if (letter === "〱" || letter === "〲" || letter === "〵") {
              isIteration = true;
              if (key.length > 1) {
                var first = key[key.length - 2];
                key.push(letter === "〲" && voiced.has(first) ? voiced.get(first) : first, last);
              }
            } else if (!isIgnored(letter.codePointAt(0))) {
              key.push(old.has(letter) ? old.get(letter) : letter);
            }
          }
        }
      }
      for (var piece = before; piece < key.length; piece++) length += utf8(key[piece].codePointAt(0));
      if (length > T.most) { key.length = before; break; }
      for (piece = before; piece < key.length; piece++) pieces.push({ start: at, end: end, isIteration: isIteration });
      at = end;
    }
    return { key: key, text: key.join(""), pieces: pieces };
  }

  /** Returns what stands for a character in a loose key. */
  function loose(character) {
    var group = groups.get(character);
    if (group !== undefined) return String.fromCharCode(group);
    var code = character.codePointAt(0);
    return String.fromCharCode(code < 0x7f ? code : 0xa5 + code % 91);
  }

  function looseKey(characters) { return characters.map(loose).join(""); }

  // ---- spellings

  function place(kana, isStart) {
    var row = isKana(kana) ? T.places[kana.charCodeAt(0) - FIRST_KANA] : ["", "", "", ""];
    return { character: kana, kana: row[isStart ? 0 : 2], unmarked: row[isStart ? 1 : 3] };
  }
  function placeOf(kana) { return { character: kana.charAt(0), kana: kana, unmarked: "" }; }
  function isAlone(place) { return place.unmarked === "" && Array.from(place.kana).every(function (kana) { return kana === place.character; }); }
  function revowelled(kana, from, to) {
    for (var row of T.rows) if (kana !== "" && row.charAt(from) === kana) return row.charAt(to);
    return "";
  }

  var A = 0, I = 1, U = 2, E = 3, O = 4;

  /** Returns how many characters are read together, and the runs of places they may be written as. */
  function runs(word, at, length) {
    function character(at) { return at >= 0 && at < word.length ? word[at] : ""; }
    var before = character(at - 1), self = character(at), next = character(at + 1), third = character(at + 2);
    var here = place(self, at === 0), u = place("う", false), e = self !== "い" ? revowelled(self, I, E) : "";
    function bare(kana) { return { character: kana, kana: kana, unmarked: place(kana, false).unmarked }; }
    if (e && next === "ょ" && third === "う") {
      var rows = [[here, place("ょ", false), u]];
      Array.from(e === "ぜ" || e === "で" ? "ぜで" : e).forEach(function (e) { rows.push([bare(e), u]); });
      rows.push([here, place("や", false), u]);
      return [3, rows];
    }
    if (e && next === "ゅ" && third === "う") return [3, [[here, place("ゅ", false), u], [here, u]]];
    var i = revowelled(self, E, I);
    if (i && (next === "う" || next === "ふ") && self !== "え") {
      return [2, [[here, place(next, false)], [place(i, at === 0), place("ょ", false), u]]];
    }
    var nextRow = next && T.rows.find(function (row) { return row.indexOf(next) >= 0; });
    var isLabial = nextRow && (nextRow.charAt(0) === "ま" || nextRow.charAt(0) === "ば");
    var endsLong = revowelled(before, O, A) || revowelled(before, U, A);
    if (isLabial && self === "う" && !endsLong) return [1, [[here], [placeOf("む")]]];
    if (isLabial && self === "む" && at === 0) return [1, [[here], [placeOf("う")]]];
    if (at === 0 && next === "ん" && (self === "か" || self === "が")) {
      return [1, [[here], [placeOf(self === "か" ? "く" : "ぐ"), placeOf("わゎ")]]];
    }
    if ((self === "く" || self === "ぐ") && (next === "ゎ" || (next === "わ" && third === "ん"))) {
      return [2, [[here, placeOf("わゎ")], [place(self === "く" ? "か" : "が", at === 0)]]];
    }
    if (length >= LONG_VOWEL_WORD) {
      if (at === 0 && self === "お" && next === "う") {
        var ways = ["おぉ", "あぁ", "わゎ"].map(function (o) { return [placeOf(o), u]; });
        if (length >= LONG_WORD) ways.push([placeOf("おぉ"), placeOf("おほ")]);
        return [2, ways];
      }
      var a = revowelled(self, O, A);
      if (a && next === "う" && (at === 0 || self === "よ" || self === "ろ")) return [2, [[here, u], [bare(a), u]]];
      if (at === 0 && self === "あ" && next === "ふ" && length >= LONG_WORD) {
        return [2, [[here, place("ふ", false)], [placeOf("お"), placeOf("う")]]];
      }
      if (next === "お" && revowelled(self, A, O)) return [2, [[here, place("お", false)], [here, placeOf("ふ")]]];
    }
    return [1, [[here]]];
  }

  /** Reads a word as a reader typed it: its exact key, and the ways to spell it if there are several. */
  function wordOf(text) {
    var exact = keyOf(text), word = exact.key, length = 0, ways = [[]], at = 0;
    word.forEach(function (character) { length += isKana(character) ? 1 : 2; });
    while (at < word.length) {
      var read = runs(word, at, length), free = Math.max(1, Math.floor(MOST_SPELLINGS / ways.length));
      var taken = read[1].slice(0, free), next = [];
      ways.forEach(function (way) { taken.forEach(function (run) { next.push(way.concat(run)); }); });
      ways = next;
      at += read[0];
    }
    var spellings = ways.map(function (places, number) {
      places = places.map(function (one) { return { character: one.character, kana: one.kana, unmarked: one.unmarked }; });
      var needle = looseKey(places.map(function (one) { return one.character; }));
      if (number === 0) places.forEach(function (one, at) { if (at < word.length) one.character = word[at]; });
      if (length >= LONG_WORD) places.forEach(function (one) { one.kana += one.unmarked; one.unmarked = ""; });
      return { needle: needle, places: places, isTyped: number === 0 };
    });
    var alone = spellings.every(function (way) { return way.places.every(isAlone); });
    return { exact: exact.text, bytes: bytes(exact.text), spellings: word.length === 1 || alone ? [] : spellings };
  }

  /** Tells how a key has a spelling at a place. */
  function fit(spelling, key, at) {
    var fit = spelling.isTyped ? EXACTLY : LOOSELY;
    for (var number = 0; number < spelling.places.length; number++) {
      var place = spelling.places[number], here = key[at + number];
      if (here === undefined) return NO;
      if (here === place.character) continue;
      if (place.kana.indexOf(here) >= 0) fit = fit === UNMARKED ? fit : LOOSELY;
      else if (place.unmarked.indexOf(here) >= 0) fit = UNMARKED;
      else return NO;
    }
    return fit;
  }

  function isWithoutMarks(key) { return !key.some(function (character) { return marked.has(character); }); }

  // ---- queries

  var BLANK = /\p{White_Space}/u;
  var QUOTES = { '"': '"', "＂": "＂", "“": "”", "「": "」", "『": "』" };

  function trimmed(text) {
    var at = 0;
    while (at < text.length && BLANK.test(text.charAt(at))) at++;
    return text.slice(at);
  }

  function firstWord(text) {
    var at = text.search(BLANK);
    return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at)];
  }

  function quoted(text) {
    var close = QUOTES[text.charAt(0)], end = close ? text.indexOf(close, 1) : -1;
    return end < 0 ? null : [text.slice(1, end), text.slice(end + 1)];
  }

  function refusal(sentence) { return { refused: sentence }; }

  /** Reads a query; the sentences are those of the page that a server makes. */
  function parse(text) {
    if (Array.from(text).length > MOST_CHARACTERS) return refusal("探す言葉は200字までにしてください。");
    var query = { terms: [], round: "" }, rest = trimmed(text);
    while (rest !== "") {
      var parts = firstWord(rest), colon = parts[0].search(/[:：]/), scope = "text", value = parts[0];
      var name = colon < 0 ? "" : parts[0].slice(0, colon).replace(/[A-Z]/g, function (letter) { return letter.toLowerCase(); });
      rest = parts[1];
      if (name === "account" || name === "prompt" || name === "honka" || name === "round") {
        var from = trimmed(parts[0].slice(colon + 1) + parts[1]);
        parts = quoted(from) || firstWord(from);
        scope = name; value = parts[0]; rest = parts[1];
      }
      rest = trimmed(rest);
      if (scope === "round") { query.round = value; continue; }
      var word = wordOf(value);
      if (word.exact !== "") query.terms.push({ scope: scope, word: word });
      if (query.terms.length > MOST_TERMS) return refusal("言葉は8つまでにしてください。");
    }
    query.terms.sort(function (one, other) { return other.word.bytes - one.word.bytes; });
    if (query.terms.length > 0) return query;
    return refusal(query.round === "" ? "探す言葉をひとつ以上、空白以外の文字で入れてください。"
      : "round: のほかに、探す言葉をひとつ以上入れてください。回の全体は表紙からたどれます。");
  }

  // ---- titles of rounds

  function fold(text) { return text.normalize("NFKC").replace(/\p{White_Space}/gu, "").replace(/./gsu, function (one) { return one.toLowerCase(); }); }

  function kanjiNumber(text) {
    var positional = !/[十百千万]/.test(text), total = 0, below = 0, digit = null;
    if (text === "") return null;
    for (var character of text) {
      var value = "〇一二三四五六七八九".indexOf(character);
      if (value < 0) value = { "零": 0, "壱": 1, "壹": 1, "弐": 2, "貳": 2, "参": 3, "參": 3 }[character];
      if (value !== undefined) {
        if (digit !== null && !positional) return null;
        digit = digit === null ? value : digit * 10 + value;
        if (digit > 0xffffffff) return null;
        continue;
      }
      if (character === "万") {
        total = Math.max(1, below + (digit || 0)) * 10000;
        below = 0; digit = null;
        continue;
      }
      var unit = { "十": 10, "百": 100, "千": 1000 }[character];
      if (!unit) return null;
      below += (digit === null ? 1 : digit) * unit;
      digit = null;
    }
    return total + below + (digit || 0);
  }

  function number(text) {
    var value = /^[0-9]*$/.test(text) ? (/^[0-9]{1,9}$/.test(text) ? Number(text) : null) : kanjiNumber(text);
    return value !== null && value <= 999999 ? value : null;
  }

  function titleKey(title) {
    var folded = fold(title), inside = /^第(.*)回$/su.exec(folded), value = inside ? number(inside[1]) : null;
    return value === null ? folded : "第" + value + "回";
  }

  function findRound(rounds, title) {
    var bare = number(fold(title)), keys = [titleKey(title)].concat(bare === null ? [] : ["第" + bare + "回"]);
    var exact = rounds.find(function (round) { return round.title === title; });
    if (exact) return exact;
    for (var key of keys) for (var round of rounds) if (round.key === key) return round;
    return null;
  }

  // ---- looking through the keys

  /** The keys of one entry; what is derived from them is made when it is asked for. */
  function Entry(text) { this.text = text; this.characters = null; this.looseKey = ""; }
  Entry.prototype.key = function () { return this.characters || (this.characters = Array.from(this.text)); };
  Entry.prototype.loose = function () { return this.looseKey || (this.looseKey = looseKey(this.key())); };
  Entry.prototype.field = function (number) { return this.text.split("\0")[number] || ""; };

  /** Tells of each place where an entry has a spelling of a term: where, and whether exactly as it was typed. */
  function scan(term, spelling, entry, isLoose, found) {
    var haystack = isLoose ? entry.loose() : entry.text, needle = isLoose ? spelling.needle : term.word.exact;
    var from = 0, told = false;
    for (var tried = 1; ; tried++) {
      var at = haystack.indexOf(needle, from);
      if (at < 0) return;
      var fits = EXACTLY, before = isLoose ? entry.key().slice(0, at) : Array.from(entry.text.slice(0, at));
      if (term.scope === "account" && before.filter(function (one) { return one === "\0"; }).length !== ACCOUNT) fits = NO;
      else if (isLoose) {
        fits = fit(spelling, entry.key(), at);
        if (fits === UNMARKED && (entry.field(READING) !== "" || !isWithoutMarks(entry.key()))) fits = NO;
      }
      if (fits === EXACTLY || (fits !== NO && !told)) {
        told = true;
        found(isLoose ? at : bytes(entry.text.slice(0, at)), fits === EXACTLY);
      }
      if (fits === EXACTLY || tried === MOST_PLACES) return;
      from = at + 1;
    }
  }

  function spellingsOf(term) { return term.scope === "text" || term.scope === "account" ? term.word.spellings : []; }

  /** Tells whether an entry has a term: null, or whether exactly. */
  function has(term, entry) {
    var ways = spellingsOf(term), isIn = null;
    (ways.length ? ways : [null]).forEach(function (way) {
      scan(term, way, entry, way !== null, function (_, isExact) { isIn = isExact || isIn === true; });
    });
    return isIn;
  }

  /** Returns the entries that match, best first. `columns` has the keys by scope. */
  function search(query, columns, first, end) {
    var term = query.terms[0], others = query.terms.slice(1), ways = spellingsOf(term), hits = [];
    for (var ordinal = first; ordinal < end; ordinal++) {
      var best = null;
      (ways.length ? ways : [null]).forEach(function (way) {
        scan(term, way, columns[columnOf(term.scope)][ordinal], way !== null, function (position, isExact) {
          for (var other of others) {
            var isIn = has(other, columns[columnOf(other.scope)][ordinal]);
            if (isIn === null) return;
            isExact = isExact && isIn;
          }
          var rank = (isExact ? 0 : LOOSE) + Math.min(position, LOOSE - 1);
          if (best === null || rank < best) best = rank;
        });
      });
      if (best !== null) hits.push({ ordinal: ordinal, rank: best, isLoose: best >= LOOSE });
    }
    return hits.sort(function (one, other) { return one.rank - other.rank || one.ordinal - other.ordinal; });
  }

  function columnOf(scope) { return scope === "account" ? "text" : scope; }

  // ---- what to mark

  function originsOf(key, start, end) {
    var pieces = key.pieces, from = pieces[start].start, repeated = start;
    while (repeated > 0 && pieces[repeated].isIteration) repeated--;
    return [[from, pieces[end - 1].end], [pieces[repeated].isIteration ? from : pieces[repeated].start, pieces[end - 1].end]];
  }

  function findExact(key, text, needle) {
    var first = null, from = 0;
    if (needle === "") return null;
    for (var tried = 0; tried < MOST_PLACES; tried++) {
      var at = key.text.indexOf(needle, from);
      if (at < 0) break;
      var start = Array.from(key.text.slice(0, at)).length, end = start + Array.from(needle).length;
      var parts = originsOf(key, start, end);
      for (var part of parts) if (keyOf(text.slice(part[0], part[1])).text === needle) return part;
      first = first || parts[0];
      from = at + 1;
    }
    return first;
  }

  function findSpelled(key, word, least) {
    var looseText = looseKey(key.key), best = null;
    word.spellings.forEach(function (way) {
      var from = 0;
      for (var tried = 0; tried < MOST_PLACES; tried++) {
        var at = looseText.indexOf(way.needle, from);
        if (at < 0) return;
        if (fit(way, key.key, at) >= least) {
          var end = at + way.places.length;
          if (best === null || at < best[0] || (at === best[0] && end < best[1])) best = [at, end];
          return;
        }
        from = at + 1;
      }
    });
    return best && originsOf(key, best[0], Math.min(best[1], key.pieces.length))[0];
  }

  function find(query, text, isLoose, scopes) {
    var terms = query.terms.filter(function (term) { return scopes.indexOf(term.scope) >= 0; });
    if (terms.length === 0) return null;
    var key = keyOf(text);
    for (var term of terms) {
      var range = findExact(key, text, term.word.exact);
      if (!range && isLoose) range = findSpelled(key, term.word, LOOSELY);
      if (!range && isLoose && isWithoutMarks(key.key)) range = findSpelled(key, term.word, UNMARKED);
      if (range) return range;
    }
    return null;
  }

  /** Returns which part of which text of an entry is what was looked for. */
  function mark(query, entry, isLoose) {
    var range = find(query, entry.poem, isLoose, ["text"]);
    if (range) return { field: "poem", range: range };
    range = entry.yomi !== null ? find(query, entry.yomi, isLoose, ["text"]) : null;
    if (range) return { field: "yomi", range: range };
    range = find(query, entry.account, isLoose, ["text", "account"]);
    return range ? { field: "account", range: range } : null;
  }

  // ---- what is loaded: each file calls back

  var index = null, columns = {}, entries = [], waiting = {};

  function split(keys) { return keys.split("\n").slice(0, -1).map(function (key) { return new Entry(key); }); }

  var lookup = {
    index: function (value) {
      index = value;
      index.rounds = index.rounds.map(function (row) { return { title: row[0], key: row[1], folder: row[2], first: row[3], count: row[4] }; });
    },
    keys: function (name, first, keys) {
      columns[name] = columns[name] || [];
      split(keys).forEach(function (entry, at) { columns[name][first + at] = entry; });
    },
    entries: function (first, rows) {
      rows.forEach(function (row, at) {
        entries[first + at] = { rank: row[0], account: row[1], poem: row[2], yomi: row[3], picture: row[4], width: row[5], height: row[6] };
      });
    },
  };

  function roundOf(ordinal) {
    return index.rounds.find(function (round) { return ordinal >= round.first && ordinal < round.first + round.count; });
  }

  /** Finds the hits of a page: `{refused}` or `{total, hits}`; `load` fetches files by their names. */
  function ask(text, from, count, load) {
    var query = parse(text);
    if (query.refused) return Promise.resolve(query);
    if (index.refused) return Promise.resolve(refusal(index.refused));
    var within = { first: 0, count: index.count };
    if (query.round !== "") {
      within = findRound(index.rounds, query.round);
      if (!within) return Promise.resolve(refusal("その名前の回は見つかりませんでした。"));
    }
    var needed = [];
    query.terms.forEach(function (term) {
      index.keys[columnOf(term.scope)].forEach(function (part) {
        if (part[1] < within.first + within.count && part[1] + part[2] > within.first) needed.push(part[0]);
      });
    });
    return load(needed).then(function () {
      var found = search(query, columns, within.first, within.first + within.count);
      var shown = found.slice(from, from + count), files = [];
      shown.forEach(function (hit) {
        index.entries.forEach(function (part) { if (hit.ordinal >= part[1] && hit.ordinal < part[1] + part[2]) files.push(part[0]); });
      });
      return load(files).then(function () {
        return { total: found.length, hits: shown.map(function (hit) {
          var entry = entries[hit.ordinal];
          return { round: roundOf(hit.ordinal), entry: entry, isLoose: hit.isLoose, marked: mark(query, entry, hit.isLoose) };
        }) };
      });
    });
  }

  lookup.ask = ask;
  lookup.keyOf = function (text) { return keyOf(text).text; };
  root.wakashuLookup = lookup;

  // ---- the page

  if (typeof document === "undefined") return;
  var board = document.getElementById("lookup");
  if (!board) return;
  var up = "../";

  function loadOne(file) {
    if (!waiting[file]) {
      waiting[file] = new Promise(function (resolve, reject) {
        var script = document.createElement("script");
        script.src = up + file;
        script.onload = function () { resolve(); };
        script.onerror = function () { delete waiting[file]; reject(new Error(file)); };
        document.head.appendChild(script);
      });
    }
    return waiting[file];
  }
  function load(files) { return Promise.all(files.filter(function (file, at) { return files.indexOf(file) === at; }).map(loadOne)); }
  function prepare() { return load([board.dataset.index]); }

  function element(name, className, text) {
    var made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }
  function encoded(path) { return path.split("/").map(encodeURIComponent).join("/"); }

  /** Writes at most so many characters of a text in one line, with a part of it marked. */
  function writeMarked(into, text, range, most) {
    var all = Array.from(text.replace(/\r\n|[\r\n]/g, "\u3000")), from = 0, to = all.length, start = 0, end = 0;
    if (range) {
      start = Array.from(text.slice(0, range[0]).replace(/\r\n/g, "\n")).length;
      end = start + Array.from(text.slice(range[0], range[1]).replace(/\r\n/g, "\n")).length;
    }
    if (all.length > most) {
      from = Math.min(Math.max(0, start - Math.floor(most / 2)), all.length - most);
      to = from + most;
    }
    start = Math.min(Math.max(start, from), to); end = Math.min(Math.max(end, from), to);
    into.append((from > 0 ? "…" : "") + all.slice(from, start).join(""));
    if (end > start) into.append(element("mark", "", all.slice(start, end).join("")));
    into.append(all.slice(end, to).join("") + (to < all.length ? "…" : ""));
    return into;
  }

  function show(hit) {
    var entry = hit.entry, article = element("article", "hit"), words = element("div"), line = element("p", "line");
    var range = function (field) { return hit.marked && hit.marked.field === field ? hit.marked.range : null; };
    if (entry.picture) {
      var frame = element("div", "picture"), picture = element("img");
      picture.src = up + entry.picture; picture.width = entry.width; picture.height = entry.height;
      picture.alt = ""; picture.loading = "lazy"; picture.decoding = "async";
      frame.append(picture);
      article.append(frame);
    }
    var link = element("a");
    link.href = up + encoded("rounds/" + hit.round.folder + "/" + entry.rank + "/index.html");
    line.append(writeMarked(link, entry.poem, range("poem"), 120));
    words.append(line);
    if (range("yomi")) words.append(writeMarked(element("p", "quiet", "よみ "), entry.yomi, range("yomi"), 120));
    var where = element("p", "quiet");
    where.append(element("bdi", "", hit.round.title), " " + entry.rank + "位 ", writeMarked(element("bdi"), entry.account, range("account"), 60));
    if (hit.isLoose) where.append(element("span", "note", "表記ゆれを含む一致"));
    words.append(where);
    article.append(words);
    var item = element("li");
    item.append(article);
    return item;
  }

  function step(rel, label, text, page) {
    var link = element("a", "", label);
    link.rel = rel;
    link.href = "?q=" + encodeURIComponent(text) + (page > 1 ? "&page=" + page : "");
    return link;
  }

  function tell(sentence, className) {
    var said = element("p", className, sentence);
    said.setAttribute("role", "status");
    board.replaceChildren(said);
    return said;
  }

  function run(text, page) {
    // What is found comes later: what stands below waits out of sight, so that nothing on the page moves.
    board.className = "asked";
    tell("探しています…", "quiet");
    prepare().then(function () { return ask(text, (page - 1) * HITS_ON_A_PAGE, HITS_ON_A_PAGE, load); }).then(function (found) {
      if (found.refused) { tell(found.refused, "alert"); return; }
      if (found.hits.length === 0) {
        tell(page > 1 ? "続きはありません。" : "見つかりませんでした。言葉を短くするか、かなで試してください。", "tally");
      } else {
        tell(found.total.toLocaleString("en-US") + "首見つかりました。", "tally");
      }
      var list = element("ol", "hits");
      found.hits.forEach(function (hit) { list.append(show(hit)); });
      board.append(list);
      var more = found.total > page * HITS_ON_A_PAGE;
      if (page > 1 || more) {
        var paging = element("nav", "paging");
        paging.setAttribute("aria-label", "ページ");
        paging.append(page > 1 ? step("prev", "前のページ", text, page - 1) : element("span"), element("span", "", page + "ページ目"),
          more ? step("next", "次のページ", text, page + 1) : element("span"));
        board.append(paging);
      }
    }, function () { tell("検索用のファイルを読み込めませんでした。しばらくしてからもう一度お試しください。", "alert"); });
  }

  var asked = new URLSearchParams(location.search), text = asked.get("q") || "";
  var field = document.getElementById("q");
  if (field) {
    field.value = text;
    // Whoever is about to type will ask.
    field.addEventListener("focus", function () { prepare().then(function () { return !index.refused && load(index.keys.text.map(function (part) { return part[0]; })); }).catch(function () {}); }, { once: true });
  }
  if (trimmed(text) !== "") {
    document.title = text + " の検索｜" + document.title.split("｜").slice(1).join("｜");
    run(text, Math.max(1, Math.min(100000, parseInt(asked.get("page"), 10) || 1)));
  }
})(typeof self === "undefined" ? globalThis : self);
