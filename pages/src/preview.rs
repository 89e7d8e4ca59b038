//! What a preview shows besides the collection: what is wrong with it, on top of every page.

use maud::{Markup, html};

use crate::text::Text;

/// What a preview shows. Nobody but a preview gives pages one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preview {
    /// Names what is shown, the collection included: a page with another mark is an old one.
    pub mark: String,
    /// The language of the person who keeps the collection.
    pub lang: &'static str,
    /// What there is to say in one line; empty if there is nothing.
    pub summary: String,
    /// What to put right.
    pub findings: Vec<Finding>,
    /// How many findings there are besides these, in words; empty if there are none.
    pub more: String,
}

/// One thing to put right, in the language of the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: String,
    /// Where it is.
    pub place: String,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl Preview {
    /// Returns what stands on top of the page.
    pub(crate) fn banner(&self) -> Markup {
        html! {
            @if !self.summary.is_empty() {
                aside.findings lang=(self.lang) aria-labelledby="findings" {
                    h2 #findings { (Text(&self.summary)) }
                    @if !self.findings.is_empty() {
                        ul { @for finding in &self.findings { li { (finding.item()) } } }
                    }
                    @if !self.more.is_empty() { p.quiet { (Text(&self.more)) } }
                }
            }
        }
    }
}

impl Finding {
    fn item(&self) -> Markup {
        html! {
            p { b { (Text(&self.severity)) } code { (Text(&self.place)) } }
            p { (Text(&self.message)) }
            @if let Some(hint) = &self.hint { p { (Text(hint)) } }
        }
    }
}
