//! A set of tools, small enough to be copied.

use super::{TOOLS, Tool};

/// A set of tools: a bit for each place in the registry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ToolSet(u64);

impl ToolSet {
    /// Most tools a registry may have.
    pub(super) const MOST: usize = 64;

    /// Adds the tool of this name.
    ///
    /// # Errors
    ///
    /// No tool has the name.
    pub fn insert(&mut self, name: &str) -> Result<(), UnknownTool> {
        let place = TOOLS.iter().position(|tool| tool.name == name).ok_or(UnknownTool)?;
        self.0 |= 1 << place;
        Ok(())
    }

    /// Tells whether `tool` is in the set.
    #[must_use]
    pub fn contains(self, tool: &Tool) -> bool {
        self.0 != 0 && self.names().any(|name| name == tool.name)
    }

    /// Returns the tools' names, in the registry's order.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let tools = TOOLS.iter().enumerate();
        tools.filter(move |(place, _)| self.0 & (1 << place) != 0).map(|(_, tool)| tool.name)
    }
}

/// No tool has this name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no tool has this name")]
pub struct UnknownTool;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_put_in_is_in() {
        let mut set = ToolSet::default();
        assert_eq!(set.names().count(), 0);
        set.insert("search_poems").unwrap();
        set.insert("list_rounds").unwrap();
        assert_eq!(set.insert("search"), Err(UnknownTool));
        assert_eq!(set.names().collect::<Vec<_>>(), ["list_rounds", "search_poems"]);
        for tool in TOOLS {
            assert_eq!(set.contains(tool), ["list_rounds", "search_poems"].contains(&tool.name));
        }
    }
}
