//! What a bundle says about itself: the manifest that hosts read, and its English texts.
//!
//! Manifest version 0.3 of MCP Bundles; hosts refuse fields that they do not know.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wakashu_archive::ContentHash;
use wakashu_function::reference;

use super::platform::{Platform, System};

/// What is put into a manifest.
#[derive(Debug)]
pub(super) struct Manifest<'a> {
    pub(super) title: &'a str,
    pub(super) description: &'a str,
    /// The first hex digits of the archive's digest, where it is in the bundle.
    pub(super) digest: Option<&'a str>,
    /// What the program reads: a file in the bundle, or an address.
    pub(super) reads: &'a str,
    pub(super) platforms: &'a [Platform],
}

/// Where the English texts are.
pub(super) const ENGLISH: &str = "mcpb-resources/en.json";

/// The setting by which a reader names another archive.
const SETTING: &str = "archive";

impl Manifest<'_> {
    /// Returns the manifest.
    pub(super) fn json(&self) -> Value {
        let version = match self.digest {
            // The name of what is inside, for people: whoever compares versions by the rules passes over what follows the `+`.
            Some(digest) => format!("{}+{digest}", env!("CARGO_PKG_VERSION")),
            None => env!("CARGO_PKG_VERSION").to_owned(),
        };
        let long = format!(
            "{}\n\n歌を尋ねると、歌と画像が会話の中に出ます。{}",
            self.description,
            if self.digest.is_some() {
                "歌集はこの中に入っているので、ネットワークがなくても読めます。"
            } else {
                "公開されている歌集をそのつど読むので、いつも最新です。"
            }
        );
        let mut systems: Vec<System> = self.platforms.iter().map(|platform| platform.system()).collect();
        systems.dedup();
        let mut manifest = json!({
            "manifest_version": "0.3",
            // Hosts tell bundles apart by this; one that is made anew takes the place of the one before.
            "name": format!("wakashu-{}", ContentHash::of(self.title.as_bytes()).to_short_hex().as_str()),
            "display_name": self.title,
            "version": version,
            "description": if self.description.is_empty() { self.title } else { self.description },
            "long_description": long,
            "author": { "name": self.title },
            "icon": "icon.png",
            "icons": [{ "src": "icon.png", "size": format!("{0}x{0}", super::icon::SIDE) }],
            "localization": { "resources": "mcpb-resources/${locale}.json", "default_locale": "ja" },
            "server": self.server(),
            "tools": reference::tools(self.title)
                .map(|tool| json!({ "name": tool.name, "description": tool.description }))
                .collect::<Vec<_>>(),
            "prompts": reference::prompts().map(|prompt| {
                let given = prompt.arguments.iter().map(|name| format!("{name}: ${{arguments.{name}}}"));
                let text = format!("{}（{}）", prompt.description, given.collect::<Vec<_>>().join("、"));
                json!({ "name": prompt.name, "description": prompt.description, "arguments": prompt.arguments, "text": text })
            }).collect::<Vec<_>>(),
            // The prompts of the server have the poems in them.
            "prompts_generated": true,
            "keywords": ["和歌", "短歌", "poems", "japanese"],
            "license": "MIT OR Apache-2.0",
            "compatibility": { "platforms": systems.iter().map(|system| system.name()).collect::<Vec<_>>() },
        });
        if let (Some(members), true) = (manifest.as_object_mut(), self.has_shell()) {
            members.insert(
                "user_config".to_owned(),
                json!({
                    SETTING: {
                        "type": "file",
                        "title": "別の歌集（なくてもかまいません）",
                        "description": self.but_on_windows(
                            "手元のアーカイブ（.wakashu）を読みたいときだけ選んでください。",
                            "Windows では働きません。",
                        ),
                        "required": false,
                    }
                }),
            );
        }
        manifest
    }

    /// Returns the texts in English.
    pub(super) fn english(&self) -> Value {
        let description = format!("Poems and pictures of “{}”, shown in the conversation.", self.title);
        let mut texts = BTreeMap::from([
            ("display_name", json!(self.title)),
            ("description", json!(description)),
            (
                "long_description",
                json!(format!(
                    "{description} {}",
                    if self.digest.is_some() {
                        "The collection is inside and needs no network."
                    } else {
                        "It is read where it is published, and so is always current."
                    }
                )),
            ),
        ]);
        if self.has_shell() {
            texts.insert(
                "user_config",
                json!({
                    SETTING: {
                        "title": "Another collection (may be left empty)",
                        "description": self.but_on_windows(
                            "Choose an archive (.wakashu) only to read that one instead.",
                            " It has no effect on Windows.",
                        ),
                    }
                }),
            );
        }
        json!(texts)
    }

    /// Tells whether any of the machines has a shell: it starts the program there, and reads the setting.
    fn has_shell(&self) -> bool {
        self.platforms.iter().any(|platform| platform.pattern().is_some())
    }

    /// Adds to a text what holds for Windows, if the bundle is for it, too: there is no launcher that reads the setting.
    fn but_on_windows(&self, text: &str, but: &str) -> String {
        let is_for_windows = self.platforms.iter().any(|platform| platform.system() == System::Windows);
        format!("{text}{}", if is_for_windows { but } else { "" })
    }

    fn server(&self) -> Value {
        let windows = self.platforms.iter().find(|platform| platform.system() == System::Windows);
        let on_windows = windows.map(|platform| {
            json!({ "command": format!("${{__dirname}}/{}", platform.program()), "args": ["stdio", self.reads], "env": {} })
        });
        if !self.has_shell() {
            let entry_point = windows.map(|platform| platform.program()).unwrap_or_default();
            return json!({ "type": "binary", "entry_point": entry_point, "mcp_config": on_windows });
        }
        let mut started = json!({
            "command": "/bin/sh",
            "args": [format!("${{__dirname}}/{}", super::LAUNCHER), self.reads],
            "env": { "BUNDLE_ARCHIVE": format!("${{user_config.{SETTING}}}") },
        });
        if let (Some(members), Some(on_windows)) = (started.as_object_mut(), on_windows) {
            members.insert("platform_overrides".to_owned(), json!({ "win32": on_windows }));
        }
        json!({ "type": "binary", "entry_point": super::LAUNCHER, "mcp_config": started })
    }
}
