//! `new`: a data repository of one's own, with everything in it that a curator needs.

use std::fs;
use std::path::Path;

use super::Status;
use crate::begun::{self, Alone, NEW, NEW_PART};
use crate::cli::NewArguments;
use crate::problem::{printable, printable_path};
use crate::report::Report;
use crate::walk::{collection_file, names};
use crate::words::{Remark, curating as words};

macro_rules! template {
    ($($path:literal),* $(,)?) => {
        [$(($path, include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/template/", $path)).as_slice())),*]
    };
}

/// The files of a data repository, by their path in it. They lie in `template/` as they are written.
const FILES: &[(&str, &[u8])] = &template![
    ".gitattributes",
    ".github/workflows/collection.yml",
    ".gitignore",
    ".pre-commit-config.yaml",
    ".vscode/settings.json",
    ".wakashu/collection.schema.json",
    ".wakashu/period.schema.json",
    ".wakashu/textdata.schema.json",
    "README.md",
    "wakashu_dir/和歌集.json",
    "wakashu_dir/第1回/1-Laptop/Picture1.webp",
    "wakashu_dir/第1回/1-Laptop/TextData1.json",
    "wakashu_dir/第1回/編纂時期.json",
];

/// The schema of entries, which `add` points editors to where it is there.
pub(crate) const TEXT_SCHEMA: &str = ".wakashu/textdata.schema.json";

/// What lies in a folder that is as good as empty: an empty repository that was cloned, and what file managers leave.
const NOTHING: [&str; 3] = [".git", ".DS_Store", "desktop.ini"];

const WORKFLOWS: &str = ".github/";

/// Runs the verb.
pub fn run(arguments: &NewArguments, report: &Report) -> anyhow::Result<Status> {
    let folder = &arguments.dir;
    let refuse = |remark: &Remark| anyhow::anyhow!("{}", remark.said(report.language()));
    let own = || own_action(env!("CARGO_PKG_REPOSITORY"), env!("CARGO_PKG_VERSION"));
    let action = arguments.action.clone().or_else(own);
    if let Some(action) = action.as_ref().filter(|action| !is_action(action)) {
        return Err(refuse(&words::not_an_action(action)));
    }
    let title = title_of(arguments).map_err(|found| refuse(&words::not_a_title(&found)))?;
    fs::create_dir_all(folder).map_err(begun::failed(folder))?;
    let _alone = Alone::with(folder)?;
    let is_finished = begun::settle_new(folder, report)?;
    if !is_finished {
        if let Some(found) = first_in(folder)? {
            return Err(refuse(&words::not_empty(&printable_path(folder), &found)));
        }
        let part = folder.join(NEW_PART);
        for (path, bytes) in FILES {
            if action.is_none() && path.starts_with(WORKFLOWS) {
                continue;
            }
            begun::write(&part.join(path), &filled(path, bytes, &title, action.as_deref()))?;
        }
        begun::give_place(&part, &folder.join(NEW))?;
        begun::give_places(folder)?;
    }
    // An earlier run may have begun it under another title and with another action.
    let title = if is_finished { title_in(folder).unwrap_or(title) } else { title };
    report.remark(&words::made(&printable_path(folder), &printable(&title)));
    if !folder.join(WORKFLOWS).is_dir() {
        report.remark(&words::without_workflow());
    }
    report.remark(&words::next());
    if folder != Path::new(".") {
        report.note(&format!("  cd {}", quoted(&printable_path(folder))));
    }
    for command in ["check wakashu_dir", "preview wakashu_dir --watch"] {
        report.note(&format!("  wakashu {command}"));
    }
    report.data(&format!("{}\n", folder.display()))?;
    Ok(Status::Fine)
}

/// Returns the action of this project, if it says where its repository is. The tag of the program itself holds no checksums
/// to install by; the one of the action, which follows it, does.
fn own_action(repository: &str, version: &str) -> Option<String> {
    let repository = repository.strip_prefix("https://github.com/")?.trim_end_matches('/');
    Some(format!("{repository}@action-v{version}"))
}

/// Returns the title of the collection in a data repository.
fn title_in(folder: &Path) -> Option<String> {
    let file = folder.join("wakashu_dir").join(names::COLLECTION_FILE);
    collection_file::parse(&fs::read(file).ok()?).value.title
}

/// Tells whether a text is OWNER/NAME@REF, with nothing in it that YAML or a shell would act on.
fn is_action(action: &str) -> bool {
    let is_plain = |part: &str| {
        let mut letters = part.chars();
        letters.next().is_some_and(|first| first.is_ascii_alphanumeric())
            && letters.all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.' | '/'))
    };
    let Some((name, reference)) = action.split_once('@') else { return false };
    name.contains('/') && is_plain(name) && is_plain(reference)
}

fn title_of(arguments: &NewArguments) -> Result<String, String> {
    let named = arguments.dir.canonicalize().ok();
    let name = || {
        named.as_deref().unwrap_or(&arguments.dir).file_name().map(|name| name.to_string_lossy().into_owned())
    };
    let title = arguments.title.clone().or_else(name).unwrap_or_default();
    if title.trim().is_empty() || title.contains(char::is_control) {
        return Err(title);
    }
    Ok(title.trim().to_owned())
}

/// Returns a file with its blanks filled in.
fn filled(path: &str, bytes: &[u8], title: &str, action: Option<&str>) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(bytes) else { return bytes.to_owned() };
    let is_json = Path::new(path).extension().is_some_and(|extension| extension == "json");
    // Inside quotes that are there.
    let json = serde_json::to_string(title).unwrap_or_default();
    let title =
        if is_json { json.trim_start_matches('"').strip_suffix('"').unwrap_or_default() } else { title };
    let text = text.replace("{{action}}", action.unwrap_or_default());
    let text = text.replace("{{install}}", &words::install(action));
    let text = text.replace("{{publishing}}", words::publishing(action.is_some()));
    text.replace("{{title}}", title).into_bytes()
}

/// Returns the name of something in a folder that is not as good as empty.
fn first_in(folder: &Path) -> std::io::Result<Option<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        if !NOTHING.iter().any(|nothing| name == *nothing) {
            names.push(printable_path(Path::new(&name)));
        }
    }
    names.sort();
    Ok(names.into_iter().next())
}

/// Returns a path as it can be pasted into a shell.
fn quoted(path: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '/' | '.' | '-' | '_' | '~');
    if path.chars().all(is_plain) { path.to_owned() } else { format!("'{}'", path.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_template_is_written() {
        let template = Path::new(env!("CARGO_MANIFEST_DIR")).join("template");
        let files = walkdir::WalkDir::new(&template).sort_by_file_name().into_iter().map(Result::unwrap);
        let files = files.filter(|entry| entry.file_type().is_file());
        let mut found: Vec<String> =
            files.map(|entry| printable_path(entry.path().strip_prefix(&template).unwrap())).collect();
        found.sort();
        let mut written: Vec<_> = FILES.iter().map(|(path, _)| *path).collect();
        written.sort_unstable();
        assert_eq!(found, written);
    }

    #[test]
    fn blanks_are_filled_in_as_the_file_needs_it() {
        let filled = |path: &str, text: &str| {
            String::from_utf8(filled(path, text.as_bytes(), "春\"の\\集", Some("a/b@v1"))).unwrap()
        };
        assert_eq!(filled("x.json", "{\"Title\": \"{{title}}\"}"), "{\"Title\": \"春\\\"の\\\\集\"}");
        assert_eq!(filled("x.md", "# {{title}}"), "# 春\"の\\集");
        assert_eq!(filled("x.yml", "uses: {{action}}"), "uses: a/b@v1");
    }

    #[test]
    fn the_workflow_takes_the_tag_that_holds_checksums() {
        for repository in ["https://github.com/owner/wakashu", "https://github.com/owner/wakashu/"] {
            let action = own_action(repository, "0.1.0").unwrap();
            assert_eq!(action, "owner/wakashu@action-v0.1.0");
            assert!(is_action(&action));
        }
        assert_eq!(own_action("", "0.1.0"), None);
    }

    #[test]
    fn an_action_has_an_owner_a_name_and_a_version() {
        for action in ["a/b@v1", "owner/wakashu/path@0123abc", "a-b/c_d@release/1.0"] {
            assert!(is_action(action), "{action}");
        }
        for action in ["", "a/b", "a@v1", "a/b@", "a/b@v1 # x", "a/b@v1\n", "./a/b@v1", "a/b@${{ x }}"] {
            assert!(!is_action(action), "{action}");
        }
    }
}
