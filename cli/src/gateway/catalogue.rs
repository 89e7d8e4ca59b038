//! What all servers have together, under names of the gateway's own.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use serde_json::json;
use serde_json::value::RawValue;

use super::fold::{self, Sharer};
use super::rewrite::with_member;
use super::upstream::{Lists, State, Upstream};
use super::{names, rewrite};

/// The lists as hosts see them, and what lies behind each name.
#[derive(Debug, Default)]
pub(super) struct Catalogue {
    pub(super) tools: Vec<String>,
    pub(super) prompts: Vec<String>,
    pub(super) resources: Vec<String>,
    pub(super) templates: Vec<String>,
    tool_targets: HashMap<String, Target>,
    prompt_targets: HashMap<String, Target>,
    /// Every tool and prompt by the name its server gives it.
    bare_tools: HashMap<String, Vec<Target>>,
    bare_prompts: HashMap<String, Vec<Target>>,
    /// Servers by what their addresses begin with.
    schemes: BTreeMap<String, String>,
    /// The addresses of resources and the beginnings of those of templates, with their servers.
    addresses: HashMap<String, Vec<String>>,
    beginnings: Vec<(String, String)>,
    /// Which definition of a tool is the shared one, by kind of server and name.
    shared: HashMap<(String, String), String>,
    /// Servers that are not there, with the reason.
    pub(super) missing: Vec<(String, String)>,
}

/// What lies behind a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// Something of one server, by the name it has there.
    One { server: String, name: String },
    /// A tool that these servers share.
    Shared { servers: Vec<String>, name: String },
}

/// Where an address leads.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    At {
        server: String,
        uri: String,
    },
    /// Several servers have it; these addresses tell them apart.
    Unclear(Vec<String>),
    Nowhere,
}

impl Catalogue {
    /// Puts together what the servers have. What was shared `before` stays so where anybody still has it.
    pub(super) fn new(upstreams: &[Arc<Upstream>], before: &Self) -> Self {
        let states: Vec<(&str, State)> =
            upstreams.iter().map(|upstream| (upstream.name.as_str(), upstream.state())).collect();
        let mut catalogue = Self::default();
        for (server, _) in &states {
            catalogue.schemes.insert(names::scheme(server), (*server).to_owned());
        }
        let mut kinds: HashMap<&str, usize> = HashMap::new();
        for (_, state) in &states {
            if let State::Up(lists) | State::Down(_, Some(lists)) = state {
                *kinds.entry(lists.kind.as_str()).or_default() += 1;
            }
        }
        let mut there: Vec<(&str, &Lists)> = Vec::new();
        for (server, state) in &states {
            match state {
                State::Up(lists) => there.push((server, lists)),
                State::Down(reason, _) => catalogue.missing.push(((*server).to_owned(), reason.clone())),
                State::Starting => {}
            }
        }
        let folded = catalogue.share_tools(&there, &kinds, before);
        for (server, lists) in &there {
            catalogue.add(server, lists, &folded);
        }
        catalogue
    }

    /// Lists the shared tools; returns which server's which tool is among them.
    fn share_tools(
        &mut self,
        there: &[(&str, &Lists)],
        kinds: &HashMap<&str, usize>,
        before: &Self,
    ) -> HashSet<(String, String)> {
        // By kind and name, in order of the first that has it: who defines it how.
        let mut order: Vec<(String, String)> = Vec::new();
        let mut groups: HashMap<(String, String), Vec<Group<'_>>> = HashMap::new();
        for (server, lists) in there {
            if lists.kind.is_empty() || kinds.get(lists.kind.as_str()).is_none_or(|count| *count < 2) {
                continue;
            }
            for tool in &lists.tools {
                let (Some(name), Some(likeness)) = (name_of(tool, "name"), fold::likeness(tool.get())) else {
                    continue;
                };
                let key = (lists.kind.clone(), name);
                let of_name = groups.entry(key.clone()).or_insert_with(|| {
                    order.push(key);
                    Vec::new()
                });
                let sharer =
                    Sharer { server, title: if lists.title.is_empty() { server } else { &lists.title } };
                match of_name.iter_mut().find(|group| group.likeness == likeness) {
                    Some(group) => group.sharers.push(sharer),
                    None => of_name.push(Group { likeness, definition: tool.get(), sharers: vec![sharer] }),
                }
            }
        }
        let mut folded = HashSet::new();
        for key in order {
            let Some(of_name) = groups.get(&key) else { continue };
            let kept =
                before.shared.get(&key).and_then(|kept| of_name.iter().find(|group| group.likeness == *kept));
            // Of equally many the first, as `max_by_key` would take the last.
            let largest = || of_name.iter().rev().max_by_key(|group| group.sharers.len());
            let Some(group) = kept.or_else(largest) else { continue };
            let name = key.1.clone();
            if !names::is_plain(&name) || self.tool_targets.contains_key(&name) {
                continue;
            }
            let Some(definition) = fold::shared(group.definition, &name, &group.sharers) else { continue };
            let servers: Vec<String> = group.sharers.iter().map(|sharer| sharer.server.to_owned()).collect();
            let scheme = servers.first().map(|server| names::scheme(server)).unwrap_or_default();
            self.tools.push(with_own_views(&definition, &scheme));
            for server in &servers {
                folded.insert((server.clone(), name.clone()));
            }
            self.tool_targets.insert(name.clone(), Target::Shared { servers, name });
            self.shared.insert(key, group.likeness.clone());
        }
        folded
    }

    /// Adds what a server has alone.
    fn add(&mut self, server: &str, lists: &Lists, folded: &HashSet<(String, String)>) {
        let scheme = names::scheme(server);
        let one = |name: &str| Target::One { server: server.to_owned(), name: name.to_owned() };
        for tool in &lists.tools {
            let Some(name) = name_of(tool, "name") else { continue };
            self.bare_tools.entry(name.clone()).or_default().push(one(&name));
            if folded.contains(&(server.to_owned(), name.clone())) {
                continue;
            }
            let exposed = names::exposed(server, &name, |name| self.tool_targets.contains_key(name));
            let Some(definition) = with_member(tool.get(), "name", &json!(exposed).to_string()) else {
                continue;
            };
            self.tools.push(with_own_views(&definition, &scheme));
            self.tool_targets.insert(exposed, one(&name));
        }
        for prompt in &lists.prompts {
            let Some(name) = name_of(prompt, "name") else { continue };
            self.bare_prompts.entry(name.clone()).or_default().push(one(&name));
            let exposed = names::exposed(server, &name, |name| self.prompt_targets.contains_key(name));
            self.prompts.extend(with_member(prompt.get(), "name", &json!(exposed).to_string()));
            self.prompt_targets.insert(exposed, one(&name));
        }
        for resource in &lists.resources {
            let Some(uri) = name_of(resource, "uri") else { continue };
            self.resources.extend(with_member(
                resource.get(),
                "uri",
                &json!(own_address(&scheme, &uri)).to_string(),
            ));
            self.addresses.entry(uri).or_default().push(server.to_owned());
        }
        for template in &lists.templates {
            let Some(uri) = name_of(template, "uriTemplate") else { continue };
            let own = json!(own_address(&scheme, &uri)).to_string();
            self.templates.extend(with_member(template.get(), "uriTemplate", &own));
            let beginning = uri.split('{').next().unwrap_or_default().to_owned();
            self.beginnings.push((beginning, server.to_owned()));
        }
    }

    /// Returns what a tool's name stands for; also the name its server gives it, where only one has it.
    pub(super) fn tool(&self, name: &str) -> Option<&Target> {
        find(&self.tool_targets, &self.bare_tools, name)
    }

    /// Returns what a prompt's name stands for.
    pub(super) fn prompt(&self, name: &str) -> Option<&Target> {
        find(&self.prompt_targets, &self.bare_prompts, name)
    }

    /// Returns where an address leads. One that does not say whose it is, as in links inside of answers, leads to the
    /// only server that has it.
    pub(super) fn place(&self, uri: &str) -> Place {
        let (view, rest) = match uri.strip_prefix(VIEW) {
            Some(rest) => (VIEW, rest),
            None => ("", uri),
        };
        for (scheme, server) in &self.schemes {
            if let Some(rest) = rest.strip_prefix(scheme.as_str()).and_then(|rest| rest.strip_prefix('+')) {
                return Place::At { server: server.clone(), uri: format!("{view}{rest}") };
            }
        }
        let mut servers: Vec<&String> = self.addresses.get(uri).into_iter().flatten().collect();
        if servers.is_empty() {
            let fits = self.beginnings.iter().filter(|(beginning, _)| uri.starts_with(beginning.as_str()));
            servers = fits.map(|(_, server)| server).collect();
            servers.dedup();
        }
        match servers.as_slice() {
            [server] => Place::At { server: (*server).clone(), uri: uri.to_owned() },
            [] => match self.schemes.values().collect::<Vec<_>>().as_slice() {
                [only] => Place::At { server: (*only).clone(), uri: uri.to_owned() },
                _ => Place::Nowhere,
            },
            several => Place::Unclear(
                several.iter().map(|server| own_address(&names::scheme(server), uri)).collect(),
            ),
        }
    }
}

/// Those that define a tool in one way.
struct Group<'a> {
    likeness: String,
    definition: &'a str,
    sharers: Vec<Sharer<'a>>,
}

/// How the addresses of views begin, which hosts know by their scheme.
const VIEW: &str = "ui://";

/// Returns the address that says whose it is.
fn own_address(scheme: &str, uri: &str) -> String {
    match uri.strip_prefix(VIEW) {
        Some(rest) => format!("{VIEW}{scheme}+{rest}"),
        None => format!("{scheme}+{uri}"),
    }
}

/// Has the views that a tool names be found.
fn with_own_views(definition: &str, scheme: &str) -> String {
    let views = definition.match_indices("\"ui://").map(|(at, quoted)| at + quoted.len());
    rewrite::replace(definition, views.map(|at| (at..at, format!("{scheme}+"))).collect())
}

fn find<'c>(
    named: &'c HashMap<String, Target>,
    bare: &'c HashMap<String, Vec<Target>>,
    name: &str,
) -> Option<&'c Target> {
    named.get(name).or_else(|| match bare.get(name)?.as_slice() {
        [only] => Some(only),
        _ => None,
    })
}

fn name_of(entry: &RawValue, field: &str) -> Option<String> {
    Some(rewrite::members(entry.get())?.string(field)?.into_owned())
}
