//! `index_status`: what is being served, and how fresh it is. Answers even without an index.

use crate::exchange::Scope;
use crate::fault::ToolError;
use crate::served::snapshot::{IndexState, Loaded, Snapshot, shortened};
use crate::text::schema::{Schema, always, sometimes};
use crate::text::{Answer, field};
use crate::tools::arguments::Table;
use crate::tools::{Call, Run, Tool};

/// Most characters of the collection's description in an answer.
const MAX_DESCRIPTION_CHARACTERS: usize = 2_000;

pub(super) static TOOL: Tool = Tool {
    name: "index_status",
    title: "索引の状態",
    description: "「{title}」の索引の状態（読み込み済みか、回と投稿の数、版、公開日時、更新の遅れ）を返します。",
    version: "1.0.0",
    category: "status",
    tags: &["状態"],
    examples: &["{}"],
    needs: Scope::Status,
    arguments: Table::NONE,
    pictures: false,
    has_view: false,
    data: Schema::Object(&[
        always("state", Schema::Words(&["NOT_CONFIGURED", "UNAVAILABLE", "READY"])),
        always("title", Schema::Text),
        sometimes("description", Schema::Text),
        always("stale", Schema::Flag),
        sometimes("staleSince", Schema::Text),
        sometimes("note", Schema::Text),
        sometimes("rounds", Schema::Whole),
        sometimes("entries", Schema::Whole),
        sometimes("pictures", Schema::Whole),
        sometimes("digest", Schema::Text),
        sometimes("formatVersion", Schema::Whole),
        sometimes("bytes", Schema::Whole),
        sometimes("publishedAt", Schema::Text),
        sometimes("loadedAt", Schema::Text),
    ]),
    run: Run::Always(|call, out| Box::pin(std::future::ready(run(call, out)))),
};

fn run(call: Call<'_>, out: &mut Answer) -> Result<(), ToolError> {
    TOOL.arguments.refuse_unknown(call.given)?;
    let snapshot = call.snapshot;
    let note = note(snapshot);
    call.write(out, &sentence(snapshot, note.as_deref()), |out| {
        field!(out, "state").string(snapshot.state().as_str());
        field!(out, "title").string(snapshot.title());
        field!(out, "stale").boolean(snapshot.stale_since().is_some());
        if let Some(since) = snapshot.stale_since() {
            field!(out, "staleSince").string(&since.to_string());
        }
        if let Some(note) = &note {
            field!(out, "note").string(note);
        }
        if let Some(loaded) = snapshot.loaded() {
            write_loaded(out, loaded);
        }
    });
    Ok(())
}

fn write_loaded(out: &mut Answer, loaded: &Loaded) {
    let archive = loaded.index.archive();
    let root = archive.root();
    field!(out, "description").string(&shortened(&root.description, MAX_DESCRIPTION_CHARACTERS));
    field!(out, "rounds").number(root.rounds.len() as u64);
    field!(out, "entries").number(u64::from(root.entries.to_native()));
    field!(out, "pictures").number(pictures(loaded));
    field!(out, "digest").string(&loaded.digest);
    field!(out, "formatVersion").number(u64::from(archive.trailer().version()));
    field!(out, "bytes").number(archive.trailer().total_length());
    if let Some(published) = loaded.published_at {
        field!(out, "publishedAt").string(&published.to_string());
    }
    field!(out, "loadedAt").string(&loaded.loaded_at.to_string());
}

fn pictures(loaded: &Loaded) -> u64 {
    loaded.index.archive().root().rounds.iter().map(|round| u64::from(round.pictures.to_native())).sum()
}

/// Says what is not as it should be, if anything is.
fn note(snapshot: &Snapshot) -> Option<String> {
    Some(match snapshot.state() {
        IndexState::NotConfigured => {
            "索引は設定されていません。運営者が WAKASHU_ARCHIVE を設定すると使えるようになります。".to_owned()
        }
        IndexState::Unavailable => {
            "索引をまだ読み込めていません。しばらくしてからもう一度お試しください。".to_owned()
        }
        IndexState::Ready => {
            let since = snapshot.stale_since()?.in_japanese();
            format!("{since}から更新を確かめられていません。古い内容の可能性があります。")
        }
    })
}

fn sentence(snapshot: &Snapshot, note: Option<&str>) -> String {
    let note = note.unwrap_or_default();
    let Some(loaded) = snapshot.loaded() else { return note.to_owned() };
    let root = loaded.index.archive().root();
    let mut text = format!(
        "「{}」の索引は読み込み済みです。\n回: {}\n投稿: {}\n画像: {}\n版: {}\n読み込み: {}",
        snapshot.title(),
        root.rounds.len(),
        root.entries.to_native(),
        pictures(loaded),
        loaded.digest,
        loaded.loaded_at.in_japanese(),
    );
    if let Some(published) = loaded.published_at {
        text.push_str(&format!("\n公開: {}", published.in_japanese()));
    }
    if !note.is_empty() {
        text.push('\n');
        text.push_str(note);
    }
    text
}
