//! The checks, in the order in which one makes the next possible.

use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, Instant};

use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};
use wakashu_client::error::{Error, ErrorCode};
use wakashu_client::link::http::fetch::{Fetched, fetch};
use wakashu_client::validate::Schema;

use super::asking::{Asking, PATIENCE, unexpected};
use super::{Report, Wrong, links, patiently, pictures, texts};

/// The most bytes of an answer that all clients take.
const MOST_BYTES: usize = 1_000_000;
/// The most bytes of a page or a picture that are fetched.
const MOST_FETCHED: usize = 32 << 20;
/// The longest name of a tool that all clients take, with what they put before it.
const LONGEST_NAME: usize = 64 - "mcp__wakashu_mcp_server__".len();
/// The most links that are opened on the pages.
const MOST_LINKS: usize = 20;
/// How often the right archive must be named in a row, as several instances may answer.
const TIMES_SEEN: u32 = 5;
/// How many ranks are asked for at once where the largest answer is wanted.
const MOST_RANKS: u64 = 10;
const PAUSE: Duration = Duration::from_secs(2);

/// Tools without which it is not the server it should be.
const TOOLS: [&str; 5] = ["index_status", "list_rounds", "get_wakashu_ranking", "get_poem", "search_poems"];

/// What was asked for.
pub(super) struct Asked<'a> {
    pub(super) url: &'a str,
    /// What all other addresses of the server begin with.
    pub(super) base: &'a str,
    pub(super) headers: &'a HeaderMap,
    pub(super) digest: Option<&'a str>,
    pub(super) until: Instant,
}

type Outcome = Result<String, Wrong>;

/// The server in both eras, and what is known of it.
struct Server<'a> {
    asked: &'a Asked<'a>,
    legacy: Asking,
    modern: Asking,
    tools: Vec<Value>,
    status: Value,
    /// The newest round that has pictures, else the newest that has entries.
    round: Option<Value>,
    /// The one with the most pictures.
    fullest: Option<Value>,
    ranking: Value,
}

/// Runs all checks.
pub(super) async fn all(asked: &Asked<'_>, report: &mut Report) -> io::Result<()> {
    let started = Instant::now();
    let [legacy, modern] = match [false, true].map(|modern| Asking::new(asked.url, asked.headers, modern)) {
        [Ok(legacy), Ok(modern)] => [legacy, modern],
        [Err(error), _] | [_, Err(error)] => {
            report.note("reached", started, Err(Wrong::Unknown(error.message)))?;
            return Ok(());
        }
    };
    let mut server = Server {
        asked,
        legacy,
        modern,
        tools: Vec::new(),
        status: Value::Null,
        round: None,
        fullest: None,
        ranking: Value::Null,
    };
    // Nothing can be asked of one that cannot be reached, and little of one that says no hello.
    if report.note("reached", started, server.reached().await)? {
        let started = Instant::now();
        report.note("eras", started, server.eras().await)?;
        let started = Instant::now();
        let archive = server.archive().await;
        report.digest = server.status.get("digest").and_then(Value::as_str).map(str::to_owned);
        let is_there = report.note("archive", started, archive)?;
        let started = Instant::now();
        report.note("lists", started, server.lists().await)?;
        if is_there {
            let started = Instant::now();
            report.note("tools", started, server.tools().await)?;
            let started = Instant::now();
            report.note("pictures", started, server.pictures().await)?;
            let started = Instant::now();
            report.note("links", started, server.links().await)?;
            let started = Instant::now();
            report.note("pages", started, server.pages().await)?;
        }
        let started = Instant::now();
        report.note("refusals", started, server.refusals().await)?;
    }
    server.legacy.close().await;
    Ok(())
}

impl Server<'_> {
    /// Says hello until the server is there.
    async fn reached(&self) -> Outcome {
        let asked = self.asked;
        loop {
            let error = match self.legacy.greet().await {
                Ok((_, said)) => {
                    let name =
                        |field: &str| said.pointer(field).and_then(Value::as_str).unwrap_or("?").to_owned();
                    return Ok(format!("{} {}", name("/serverInfo/name"), name("/serverInfo/version")));
                }
                Err(error) => error,
            };
            if error.code == ErrorCode::PermissionDenied {
                let hint = "set WAKASHU_SMOKE_TOKEN to a token that may read, or name a --header-file";
                return Err(Wrong::Unknown(format!("{}: {hint}", error.message)));
            }
            if Instant::now() + PAUSE >= asked.until || !error.retryable() {
                return Err(error.into());
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn eras(&self) -> Outcome {
        let (legacy, _) = self.legacy.greet().await?;
        self.legacy.ask("ping", json!({})).await?;
        let (modern, said) = self.modern.greet().await?;
        let capabilities = said.get("capabilities").and_then(Value::as_object);
        let offers: Vec<&str> = capabilities.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
        Ok(format!("{legacy} and {modern}; {}", offers.join(", ")))
    }

    /// Asks which archive is served until it is the right one.
    async fn archive(&mut self) -> Outcome {
        let mut seen = 0;
        loop {
            let wrong = match self.legacy.call("index_status", &json!({})).await {
                Ok((result, _)) => {
                    self.status = result.get("structuredContent").cloned().unwrap_or_default();
                    self.wrong_archive().map(Wrong::Finding)
                }
                Err(error) if error.retryable() => Some(error.into()),
                Err(error) => return Err(error.into()),
            };
            let Some(wrong) = wrong else {
                seen += 1;
                if self.asked.digest.is_none() || seen >= TIMES_SEEN {
                    break;
                }
                continue;
            };
            seen = 0;
            if Instant::now() + PAUSE >= self.asked.until {
                return Err(wrong);
            }
            tokio::time::sleep(PAUSE).await;
        }
        let (title, digest) = (self.fact("title"), self.fact("digest"));
        let health = self.get("/health").await?;
        let health: Value = serde_json::from_slice(&health.body).unwrap_or_default();
        if health.pointer("/index/digest").and_then(Value::as_str) != Some(&digest) {
            return Err(Wrong::Finding(format!("/health does not name archive {digest}: {health}")));
        }
        let (entries, rounds) = (count(&self.status, "entries"), count(&self.status, "rounds"));
        Ok(format!("{title}: {entries} entries in {rounds} rounds, {digest}"))
    }

    /// Says what is wrong with the archive that is served.
    fn wrong_archive(&self) -> Option<String> {
        let (state, digest) = (self.fact("state"), self.fact("digest"));
        if state != "READY" {
            return Some(format!("the state is `{state}`: the server has no archive; its log says why"));
        }
        match self.asked.digest {
            Some(wanted) if !digest.starts_with(wanted) => {
                Some(format!("archive {digest} is served, not {wanted}"))
            }
            _ => None,
        }
    }

    fn fact(&self, name: &str) -> String {
        self.status.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    /// Reads all lists in both eras, which must agree.
    async fn lists(&mut self) -> Outcome {
        let mut said = Vec::new();
        for (method, field, id) in [
            ("tools/list", "tools", "name"),
            ("resources/list", "resources", "uri"),
            ("resources/templates/list", "resourceTemplates", "uriTemplate"),
            ("prompts/list", "prompts", "name"),
        ] {
            let (legacy, modern) =
                (self.legacy.list(method, field).await?, self.modern.list(method, field).await?);
            if legacy != modern {
                return Err(Wrong::Finding(format!("`{method}` differs between the eras")));
            }
            let names: Vec<&str> = legacy.iter().filter_map(|entry| entry.get(id)?.as_str()).collect();
            let different: BTreeSet<&str> = names.iter().copied().collect();
            if names.len() != legacy.len() || different.len() != names.len() {
                return Err(Wrong::Finding(format!(
                    "`{method}` has entries without `{id}`, or with the same: {names:?}"
                )));
            }
            if field == "tools" {
                check_tools(&legacy, &different)?;
                self.tools.clone_from(&legacy);
            }
            said.push(format!("{} {field}", legacy.len()));
        }
        Ok(said.join(", "))
    }

    /// Calls every tool once.
    async fn tools(&mut self) -> Outcome {
        let (rounds, _) = self.legacy.call("list_rounds", &json!({"limit": 100})).await?;
        let rounds = rounds
            .pointer("/structuredContent/rounds")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        let newest = |what| rounds.iter().rfind(|round| count(round, what) > 0);
        self.round = newest("pictures").or_else(|| newest("entries")).cloned();
        self.fullest = rounds.iter().max_by_key(|round| count(round, "pictures")).cloned();
        let Some(round) = &self.round else {
            return Ok("no round has entries: nothing more to ask".to_owned());
        };
        let title = round.get("title").and_then(Value::as_str).unwrap_or_default();
        let first = count(round, "firstRank");
        let poem = self.legacy.call("get_poem", &json!({"round_title": title, "rank": first})).await?.0;
        // The first line names the rank and the account, the poem follows.
        let word =
            texts(&poem).iter().flat_map(|text| text.lines().skip(1)).next().unwrap_or("月").to_owned();
        let (mut asked, mut left_out) = (0, Vec::new());
        for tool in &self.tools {
            let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
            let arguments = match name {
                "list_rounds" => json!({"limit": 100}),
                "get_wakashu_ranking" => {
                    json!({"round_title": title, "rank_range": format!("{first}-{}", first + 2)})
                }
                "get_poem" => json!({"round_title": title, "rank": first}),
                "search_poems" => json!({"query": word}),
                _ if required(tool).is_empty() => json!({}),
                _ => {
                    left_out.push(name);
                    continue;
                }
            };
            let (result, bytes) = self.legacy.call(name, &arguments).await?;
            check_result(tool, name, &result, bytes)?;
            if name == "search_poems" && result.pointer("/structuredContent/total") == Some(&json!(0)) {
                return Err(Wrong::Finding(format!(
                    "search_poems does not find `{word}`, which stands in {title}"
                )));
            }
            if name == "get_wakashu_ranking" {
                let (modern, _) = self.modern.call(name, &arguments).await?;
                if modern.get("content") != result.get("content") {
                    return Err(Wrong::Finding(format!("{name} {arguments} differs between the eras")));
                }
                self.ranking = result;
            }
            asked += 1;
        }
        let rest =
            if left_out.is_empty() { String::new() } else { format!("; not asked: {}", left_out.join(", ")) };
        Ok(format!("{asked} called, in {title}{rest}"))
    }

    /// Decodes the pictures of the ranking, and those of as large an answer as readers can ask for.
    async fn pictures(&self) -> Outcome {
        let promised = self.round.as_ref().map_or(0, |round| count(round, "pictures"));
        let found = check_pictures("the ranking", &self.ranking)?;
        if found == 0 && promised > 0 {
            return Err(Wrong::Finding("the round has pictures, its ranking none".to_owned()));
        }
        let Some(fullest) = self.fullest.as_ref().filter(|round| count(round, "pictures") > 0) else {
            return Ok("there are none".to_owned());
        };
        let title = fullest.get("title").and_then(Value::as_str).unwrap_or_default();
        let first = count(fullest, "firstRank");
        let ranks = format!("{first}-{}", first + MOST_RANKS - 1);
        let arguments = json!({"round_title": title, "rank_range": ranks});
        let (result, bytes) = self.legacy.call("get_wakashu_ranking", &arguments).await?;
        check_size("get_wakashu_ranking", bytes)?;
        let more = check_pictures(title, &result)?;
        Ok(format!("{found} decoded, and {more} in {bytes} bytes of {title}, {ranks}"))
    }

    /// Opens the links in the texts of the ranking.
    async fn links(&self) -> Outcome {
        let texts = texts(&self.ranking);
        let labelled =
            texts.iter().flat_map(|text| text.lines()).filter_map(|line| line.strip_prefix("画像: "));
        let mut origins: Vec<String> = labelled.filter_map(links::origin).collect();
        if origins.is_empty() && !pictures::pictures(&self.ranking).unwrap_or_default().is_empty() {
            return Err(Wrong::Finding("the texts carry no picture links".to_owned()));
        }
        origins.extend(links::origin(self.asked.url));
        let (mut opened, mut guarded) = (0, 0);
        for link in texts.iter().flat_map(|text| links::in_text(text, &origins)) {
            let fetched = self.fetch(link).await?;
            if matches!(fetched.status, 401 | 403) && self.is_foreign(link) {
                guarded += 1;
                continue;
            }
            check_fetched(link, &fetched)?;
            opened += 1;
        }
        let rest = match guarded {
            0 => String::new(),
            guarded => format!("; {guarded} ask for a token, which is not sent to another host"),
        };
        Ok(format!("{opened} open{rest}"))
    }

    /// Opens the pages, where there are any.
    async fn pages(&self) -> Outcome {
        let root = format!("{}/", self.asked.base);
        let first = self.fetch(&root).await?;
        if first.media != "text/html" {
            return Ok("none here".to_owned());
        }
        if first.status == 403 && !self.asked.headers.is_empty() {
            return Ok("off, as a token is asked for".to_owned());
        }
        check_fetched(&root, &first)?;
        let html = String::from_utf8_lossy(&first.body).into_owned();
        let title = self.fact("title").replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        if !html.contains(&title) {
            return Err(Wrong::Finding(format!("`{root}` does not name the collection")));
        }
        let linked = links::in_page(&html, &root);
        for link in linked.iter().take(MOST_LINKS) {
            check_fetched(link, &self.fetch(link).await?)?;
        }
        let rest = linked.len().saturating_sub(MOST_LINKS);
        let rest = if rest == 0 { String::new() } else { format!("; {rest} more not opened") };
        Ok(format!("the first and {} that it links to{rest}", linked.len().min(MOST_LINKS)))
    }

    /// Asks for what does not exist, and without the token where there is one; the next request must not notice.
    async fn refusals(&self) -> Outcome {
        let mut said = vec!["unknown tool", "unknown method", "no such round"];
        let refused = |outcome: Result<_, Error>, what: &str, codes: [i64; 2]| match outcome {
            Err(error) if error.rpc_code().is_some_and(|code| codes.contains(&code)) => Ok(()),
            Err(error) if error.rpc_code().is_none() => Err(error),
            Err(error) => Err(unexpected(format!("{what}: {}", error.message))),
            Ok(_) => Err(unexpected(format!("{what} is answered"))),
        };
        for asking in [&self.legacy, &self.modern] {
            let params = json!({"name": "no_such_tool", "arguments": {}});
            refused(asking.ask("tools/call", params).await, "an unknown tool", [-32602, -32601])?;
            refused(asking.ask("no/such_method", json!({})).await, "an unknown method", [-32601, -32601])?;
        }
        let params = json!({"name": "get_poem", "arguments": {"round_title": "この回はない", "rank": 1}});
        let (result, _) = self.legacy.ask("tools/call", params).await?;
        if result.get("isError") != Some(&Value::Bool(true)) {
            return Err(Wrong::Finding(format!("a round that does not exist is answered: {result}")));
        }
        if !self.asked.headers.is_empty() {
            let stranger = Asking::new(self.asked.url, &HeaderMap::new(), true)?;
            match stranger.ask("tools/list", json!({})).await {
                Err(error) if error.code == ErrorCode::PermissionDenied => said.push("no token"),
                // The headers may be for something else.
                _ => said.push("(answers without the headers, too)"),
            }
        }
        self.legacy.ask("ping", json!({})).await?;
        Ok(said.join(", "))
    }

    fn is_foreign(&self, address: &str) -> bool {
        links::origin(address) != links::origin(self.asked.url)
    }

    async fn get(&self, path: &str) -> Result<Fetched, Wrong> {
        self.fetch(&format!("{}{path}", self.asked.base)).await
    }

    /// Fetches an address; secrets are for the server's own origin alone.
    async fn fetch(&self, address: &str) -> Result<Fetched, Wrong> {
        let none = HeaderMap::new();
        let mut headers = if self.is_foreign(address) { none } else { self.asked.headers.clone() };
        // As browsers ask: others are shown the state at the first page's address.
        headers.insert(ACCEPT, HeaderValue::from_static("text/html,*/*;q=0.8"));
        let fetched = patiently(|| async {
            let fetched = fetch(address, &headers, MOST_FETCHED, PATIENCE).await?;
            let code = match fetched.status {
                429 => ErrorCode::RateLimitExceeded,
                502..=504 => ErrorCode::ConnectionFailed,
                _ => return Ok(fetched),
            };
            Err(Error::new(code, format!("{address}: status {}", fetched.status)))
        });
        Ok(fetched.await?)
    }
}

fn count(of: &Value, what: &str) -> u64 {
    of.get(what).and_then(Value::as_u64).unwrap_or_default()
}

fn required(tool: &Value) -> Vec<&str> {
    let names = tool.pointer("/inputSchema/required").and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Checks that the tools are there under names that all clients take.
fn check_tools(tools: &[Value], names: &BTreeSet<&str>) -> Result<(), Wrong> {
    if let Some(missing) = TOOLS.iter().find(|name| !names.contains(*name)) {
        return Err(Wrong::Finding(format!("the tool {missing} is missing: there are {names:?}")));
    }
    let fits = |name: &str| {
        name.len() <= LONGEST_NAME
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    if let Some(name) = names.iter().find(|name| !fits(name)) {
        return Err(Wrong::Finding(format!("not all clients take the name `{name}`")));
    }
    match tools.iter().find(|tool| tool.pointer("/inputSchema/type").is_none_or(|kind| kind != "object")) {
        Some(tool) => Err(Wrong::Finding(format!("a tool's input schema is not of type object: {tool}"))),
        None => Ok(()),
    }
}

/// Checks what a tool gave: that it says something, is not too large, and is what its schema promises.
fn check_result(tool: &Value, name: &str, result: &Value, bytes: usize) -> Result<(), Wrong> {
    check_size(name, bytes)?;
    if texts(result).iter().all(|text| text.is_empty()) {
        return Err(Wrong::Finding(format!("{name} says nothing")));
    }
    let schema = tool.get("outputSchema").and_then(|schema| Schema::compile(name, schema));
    if let Some(schema) = schema {
        let given = result.get("structuredContent").unwrap_or(&Value::Null);
        let wrong = |error: Error| Wrong::Finding(format!("{name}: {}", error.message));
        schema.check("structuredContent", given, ErrorCode::ExecutionFailed).map_err(wrong)?;
    }
    Ok(())
}

fn check_size(name: &str, bytes: usize) -> Result<(), Wrong> {
    if bytes <= MOST_BYTES {
        return Ok(());
    }
    Err(Wrong::Finding(format!("{name}: {bytes} bytes are too many for clients, {MOST_BYTES} is the limit")))
}

/// Decodes all pictures of a result, and returns how many there are.
fn check_pictures(place: &str, result: &Value) -> Result<usize, Wrong> {
    let found = pictures::pictures(result).map_err(Wrong::Finding)?;
    for (at, (media, bytes)) in found.iter().enumerate() {
        let wrong = |problem| Wrong::Finding(format!("picture {} of {place}: {problem}", at + 1));
        pictures::check(media, bytes).map_err(wrong)?;
    }
    Ok(found.len())
}

/// Checks what a link leads to: something, and a picture that is one.
fn check_fetched(link: &str, fetched: &Fetched) -> Result<(), Wrong> {
    let wrong = |problem: String| Wrong::Finding(format!("{link}: {problem}"));
    if fetched.status != 200 || fetched.body.is_empty() {
        return Err(wrong(format!("status {}, {} bytes", fetched.status, fetched.body.len())));
    }
    let is_raster = fetched.media.starts_with("image/") && fetched.media != "image/svg+xml";
    if link.contains("/pictures/") && !is_raster {
        return Err(wrong(format!("is called `{}`, which is not a picture", fetched.media)));
    }
    if is_raster { pictures::check(&fetched.media, &fetched.body).map_err(wrong) } else { Ok(()) }
}
