//! One simulated world: a store, a publisher, refreshes, readers; and what must hold in it.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::{Either, select};
use http::Request;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use wakashu_function::app::state_of;
use wakashu_function::{Access, App, ArchiveState, Arrival};

use super::library::{VERSIONS, library, versions_in};
use super::schedule::{Clock, Random, Task, run};
use super::store::Store;

/// A bug put in on purpose, to see it caught.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    None,
    /// The store answers with another archive than the one named.
    StoreSwapsArchives,
    /// A failed refresh loses the archive.
    FailureForgets,
    /// A request asks for the state twice, and answers from both.
    RequestLooksTwice,
    /// The state never looks again after its first archive.
    NeverRefreshes,
    /// What a cache has kept is taken for new: it says that it is.
    LeftoversPassForNew,
}

/// What happened, to show that the worlds are not all quiet.
#[derive(Debug, Default, Clone)]
pub(crate) struct Tally {
    pub(crate) flips: usize,
    pub(crate) faults: usize,
    /// How often a cache answered with an older pointer.
    pub(crate) leftovers: usize,
    pub(crate) failed_refreshes: usize,
    pub(crate) answers: usize,
    /// Answered from the archive the request began with, while another was served already.
    pub(crate) kept_the_old: usize,
    /// Answered from another archive, because the one it began with was pruned.
    pub(crate) went_to_the_new: usize,
    pub(crate) failures: usize,
    pub(crate) hung_up: usize,
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Self) {
        self.flips += other.flips;
        self.faults += other.faults;
        self.leftovers += other.leftovers;
        self.failed_refreshes += other.failed_refreshes;
        self.answers += other.answers;
        self.kept_the_old += other.kept_the_old;
        self.went_to_the_new += other.went_to_the_new;
        self.failures += other.failures;
        self.hung_up += other.hung_up;
    }
}

struct World {
    clock: Clock,
    store: Store,
    state: RefCell<Arc<ArchiveState>>,
    app: RefCell<Arc<App>>,
    bug: Bug,
    cache_bytes: u64,
    preload_bytes: u64,
    had_an_archive: Cell<bool>,
    tally: RefCell<Tally>,
}

/// Lives through the world of a seed. Fails with what was violated.
pub(crate) fn live(seed: u64, bug: Bug) -> Result<Tally, String> {
    let mut random = Random::new(seed);
    let clock = Clock::default();
    // A third of the worlds has no faults but slowness and pruning.
    let fault_percent = random.pick(&[0, 4, 20]);
    let store = Store::new(clock.clone(), random.branch(), fault_percent);
    if bug == Bug::StoreSwapsArchives {
        store.swap_archives();
    }
    if bug == Bug::LeftoversPassForNew {
        store.date_leftovers_anew();
    }
    // Caches too small for a page, for all pages, and for nothing.
    let cache_bytes = random.pick(&[6_000, 6_000, 20_000, 64 << 20]);
    let preload_bytes = random.pick(&[0, 0, 0, 0, 8 << 20]);
    let state = new_state(&store, cache_bytes, preload_bytes);
    let world = World {
        app: RefCell::new(new_app(&state)),
        state: RefCell::new(state),
        clock: clock.clone(),
        store,
        bug,
        cache_bytes,
        preload_bytes,
        had_an_archive: Cell::new(false),
        tally: RefCell::default(),
    };
    // Tool calls that wait set a timer. It is far longer than any world lasts, and never rings.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let _inside = runtime.enter();

    let is_well = fault_percent == 0;
    let mut tasks: Vec<Task<'_>> = vec![Box::pin(world.publishing(random.branch(), is_well))];
    for _ in 0..=random.below(2) {
        tasks.push(Box::pin(world.refreshing(random.branch(), is_well)));
    }
    for _ in 0..3 + random.below(4) {
        tasks.push(Box::pin(world.reading(random.branch(), is_well)));
    }
    run(tasks, &runtime, &clock, &mut random)?;

    world.store.heal();
    let questions: Vec<Question> = (0..3).map(|_| Question::any(&mut random)).collect();
    run(vec![Box::pin(world.in_the_end(&questions))], &runtime, &clock, &mut random)?;
    let mut tally = world.tally.into_inner();
    tally.flips = world.store.flips();
    tally.faults = world.store.faults();
    tally.leftovers = world.store.leftovers();
    Ok(tally)
}

fn new_state(store: &Store, cache_bytes: u64, preload_bytes: u64) -> Arc<ArchiveState> {
    let named = "s3://simulated/poems".parse().unwrap();
    let state = state_of(Some(named), cache_bytes, preload_bytes, true);
    Arc::new(state.with_storage(Arc::new(store.clone())))
}

fn new_app(state: &Arc<ArchiveState>) -> Arc<App> {
    let access = Access { loopback: true, ..Access::default() };
    Arc::new(App::new(Arc::clone(state), access, Some("http://localhost".to_owned())))
}

impl World {
    fn served(&self) -> Option<usize> {
        let snapshot = self.state.borrow().current();
        let digest = snapshot.index()?.archive().digest();
        library().iter().position(|published| published.digest == digest)
    }

    async fn publishing(&self, mut random: Random, is_well: bool) -> Result<(), String> {
        self.clock.sleep(random.delay()).await;
        for _ in 0..3 + random.below(4) {
            let next = random.below(VERSIONS);
            if self.store.newest() != Some(next) {
                self.store.publish(next, random.below(2));
            }
            // Where all is well, nobody is still reading an archive when its successor's successor comes.
            self.clock.sleep(if is_well { 4_000 } else { random.below(250) as u64 }).await;
        }
        Ok(())
    }

    async fn refreshing(&self, mut random: Random, is_well: bool) -> Result<(), String> {
        for _ in 0..8 {
            self.refresh().await?;
            self.clock.sleep(random.below(if is_well { 3_000 } else { 80 }) as u64).await;
        }
        Ok(())
    }

    /// Refreshes once, and checks what a refresh promises.
    async fn refresh(&self) -> Result<bool, String> {
        if self.bug == Bug::NeverRefreshes && self.served().is_some() {
            return Ok(true);
        }
        let flips = self.store.flips();
        let state = Arc::clone(&self.state.borrow());
        let is_confirmed = state.refresh().await;
        if !is_confirmed {
            self.tally.borrow_mut().failed_refreshes += 1;
            if self.bug == Bug::FailureForgets {
                let state = new_state(&self.store, self.cache_bytes, self.preload_bytes);
                *self.app.borrow_mut() = new_app(&state);
                *self.state.borrow_mut() = state;
            }
        }
        self.check_still_there()?;
        let is_stale = self.state.borrow().current().stale_since().is_some();
        let served = self.served();
        if is_confirmed {
            let named = self.store.named_since(flips);
            if !served.is_some_and(|served| named.contains(&served)) {
                return Err(format!(
                    "a refresh went well and serves {served:?}, the pointer named {named:?}"
                ));
            }
            if is_stale {
                return Err("a refresh went well and the archive is called stale".to_owned());
            }
        } else if served.is_some() && !is_stale {
            return Err("a refresh failed and the archive is not called stale".to_owned());
        }
        Ok(is_confirmed)
    }

    fn check_still_there(&self) -> Result<(), String> {
        match self.served() {
            Some(_) => self.had_an_archive.set(true),
            None if self.had_an_archive.get() => return Err("a good archive was lost".to_owned()),
            None => {}
        }
        Ok(())
    }

    async fn reading(&self, mut random: Random, is_well: bool) -> Result<(), String> {
        for _ in 0..3 {
            self.clock.sleep(random.below(if is_well { 5_000 } else { 250 }) as u64).await;
            let question = Question::any(&mut random);
            if random.chance(10) {
                // The client hangs up: what was under way is dropped where it stands.
                let patience = random.below(40) as u64;
                let asking = Box::pin(self.ask(question));
                let hanging_up = Box::pin(self.clock.sleep(patience));
                match select(asking, hanging_up).await {
                    Either::Left((outcome, _)) => outcome.map(|_| ())?,
                    Either::Right(_) => self.tally.borrow_mut().hung_up += 1,
                }
                continue;
            }
            let outcome = self.ask(question).await?;
            if is_well && outcome == Outcome::Failed {
                return Err(format!("{question:?} failed though the store is well"));
            }
        }
        Ok(())
    }

    /// Asks, and checks that the answer is of one archive: the one that was served when the request began, unless
    /// that was found pruned, be it by a request that hung up on that news and left it to the next.
    async fn ask(&self, question: Question) -> Result<Outcome, String> {
        let before = self.served();
        let mut answer = self.send(question).await;
        if self.bug == Bug::RequestLooksTwice {
            answer.versions.extend(self.send(question).await.versions);
            answer.versions.dedup();
        }
        self.check_still_there()?;
        let said = || answer.beginning();
        let version = match answer.versions.as_slice() {
            [] => None,
            [version] => Some(*version),
            several => return Err(format!("{question:?} was answered from {several:?}: {}", said())),
        };
        let mut tally = self.tally.borrow_mut();
        match answer.outcome {
            // Before the first archive, and when none can be read.
            Some(Outcome::Failed) => {
                tally.failures += 1;
                Ok(if before.is_none() { Outcome::Empty } else { Outcome::Failed })
            }
            Some(outcome) => {
                tally.answers += 1;
                if before.is_some() && version.is_none() && !question.may_be_common() {
                    return Err(format!("{question:?} was answered from nothing: {}", said()));
                }
                if let (Some(before), Some(version)) = (before, version) {
                    if version == before {
                        tally.kept_the_old += usize::from(self.served() != Some(before));
                    } else if self.store.was_pruned(before) {
                        tally.went_to_the_new += 1;
                    } else {
                        return Err(format!(
                            "{question:?} began with {before} and was answered from {version}"
                        ));
                    }
                }
                Ok(outcome)
            }
            None => Err(format!("{question:?} was answered with {}: {}", answer.status, said())),
        }
    }

    async fn send(&self, question: Question) -> Answer {
        let app = Arc::clone(&self.app.borrow());
        let response = app.answer(Arrival::default(), question.request()).await;
        let status = response.status().as_u16();
        Answer::read(status, response.into_body().collect().await.unwrap().to_bytes())
    }

    /// Once the faults are over: one refresh, and what is asked is answered from the newest archive.
    async fn in_the_end(&self, questions: &[Question]) -> Result<(), String> {
        if !self.refresh().await? {
            return Err("a refresh fails though the store is well".to_owned());
        }
        if self.served() != self.store.newest() {
            return Err(format!("{:?} is served, {:?} is the newest", self.served(), self.store.newest()));
        }
        for question in questions.iter().copied() {
            let answer = self.send(question).await;
            let versions = &answer.versions;
            let is_right = versions.iter().all(|version| Some(*version) == self.store.newest())
                && (!versions.is_empty() || question.may_be_common());
            if answer.outcome != Some(Outcome::Answered) || !is_right {
                let (status, said) = (answer.status, answer.beginning());
                return Err(format!(
                    "in the end {question:?} is answered from {versions:?} with {status}: {said}"
                ));
            }
        }
        Ok(())
    }
}

/// An answer, read.
struct Answer {
    status: u16,
    body: Bytes,
    /// The archives it speaks of.
    versions: Vec<usize>,
    /// `None` for an outcome that must never happen.
    outcome: Option<Outcome>,
}

/// How a question was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Answered,
    /// The text is there, and says that a picture could not be read.
    WithoutPicture,
    Failed,
    /// There was no archive to answer from.
    Empty,
}

impl Answer {
    fn read(status: u16, body: Bytes) -> Self {
        let json: Option<Value> = serde_json::from_slice(&body).ok();
        let versions = versions_in(&body, json.as_ref());
        let at = |pointer: &str| json.as_ref().and_then(|json| json.pointer(pointer));
        let without_picture = str::from_utf8(&body).is_ok_and(|text| text.contains("画像は読み出せません"));
        let outcome = match status {
            200 if at("/result/isError") == Some(&json!(true)) => Some(Outcome::Failed),
            // A resource that cannot be read, or is not there yet.
            200 if at("/error/code").is_some_and(|code| [-32603, -32002].map(Value::from).contains(code)) => {
                Some(Outcome::Failed)
            }
            200 if at("/error").is_some() => None,
            200 if without_picture => Some(Outcome::WithoutPicture),
            200 => Some(Outcome::Answered),
            500 if at("/code") == Some(&json!("TOOL_EXECUTION_ERROR")) => Some(Outcome::Failed),
            503 => Some(Outcome::Failed),
            _ => None,
        };
        Self { status, body, versions, outcome }
    }

    fn beginning(&self) -> String {
        String::from_utf8_lossy(&self.body).chars().take(600).collect()
    }
}

/// What readers ask for.
#[derive(Debug, Clone, Copy)]
enum Question {
    Health,
    Status,
    Rounds,
    /// Ranks of two pages, with their pictures.
    Ranking,
    Poem(u32),
    Search,
    Resource,
    PictureFile(u32),
    OverPlainHttp,
}

impl Question {
    const ALL: [Self; 11] = [
        Self::Health,
        Self::Status,
        Self::Rounds,
        Self::Ranking,
        Self::Poem(1),
        Self::Poem(34),
        Self::Search,
        Self::Resource,
        Self::PictureFile(3),
        Self::PictureFile(34),
        Self::OverPlainHttp,
    ];

    fn any(random: &mut Random) -> Self {
        random.pick(&Self::ALL)
    }

    /// A picture all archives have in common does not tell which one it came from.
    fn may_be_common(self) -> bool {
        matches!(self, Self::PictureFile(rank) if rank.is_multiple_of(2))
    }

    fn request(self) -> Request<Full<Bytes>> {
        let mcp = |method: &str, params: Value| {
            (
                "/mcp".to_owned(),
                Some(json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })),
            )
        };
        let tool =
            |name: &str, arguments: Value| mcp("tools/call", json!({ "name": name, "arguments": arguments }));
        let (path, body) = match self {
            Self::Health => ("/".to_owned(), None),
            Self::Status => tool("index_status", json!({})),
            Self::Rounds => tool("list_rounds", json!({ "limit": 2 })),
            Self::Ranking => {
                tool("get_wakashu_ranking", json!({ "round_title": "1", "rank_range": "31-35" }))
            }
            Self::Poem(rank) => tool("get_poem", json!({ "round_title": "第1回", "rank": rank })),
            Self::Search => tool("search_poems", json!({ "query": "番目", "limit": 5 })),
            Self::Resource => mcp("resources/read", json!({ "uri": "wakashu://rounds/第1回/33" })),
            Self::PictureFile(rank) => (format!("/pictures/1/{rank}"), None),
            Self::OverPlainHttp => (
                "/v1/tools/call".to_owned(),
                Some(json!({ "name": "get_poem", "parameters": { "round_title": "1", "rank": 33 } })),
            ),
        };
        let builder = Request::builder().uri(path).header("host", "localhost");
        match body {
            None => builder.body(Full::default()).unwrap(),
            Some(body) => {
                let builder = builder.method("POST").header("content-type", "application/json");
                builder.body(Full::from(body.to_string())).unwrap()
            }
        }
    }
}
