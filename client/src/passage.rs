//! The way of a request through a link: repeated where that is safe, and with the headers a modern server wants.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use serde_json::{Map, Value, json};
use wakashu_wire::error::code;

use crate::error::{Error, ErrorCode, Result};
use crate::link::{Answer, Call, Link, Refused};
use crate::mirror::{Mirror, sift_tools};
use crate::policy::{Repeat, RetryPolicy};
use crate::rules::Rules;
use crate::splice;

/// The most pages of one list that are read for its tools' marks.
const MAX_PAGES: usize = 100;

/// A link with what is known of the server behind it.
#[derive(Debug)]
pub(crate) struct Passage {
    pub(crate) link: Arc<dyn Link>,
    pub(crate) retry: RetryPolicy,
    rules: Rules,
    /// Which arguments are repeated in headers, by the names of the tools.
    mirrors: Mutex<HashMap<String, Mirror>>,
}

impl Passage {
    pub(crate) fn new(link: Arc<dyn Link>, retry: RetryPolicy, rules: Rules) -> Self {
        Self { link, retry, rules, mirrors: Mutex::default() }
    }

    /// Sends a request, again where that is safe.
    pub(crate) async fn request(&self, call: Call) -> Result<Answer> {
        let repeat = Repeat::of_method(&call.method);
        self.retry.run(repeat, |_| self.once(call.clone())).await
    }

    /// Sends a request once. Only if the server says that its headers do not fit, which means that it has not been
    /// carried out, the marks of the tools are read anew and it is sent again.
    pub(crate) async fn once(&self, mut call: Call) -> Result<Answer> {
        let is_mirrored = call.version.is_some() && self.link.has_headers();
        match call.method.as_str() {
            "tools/call" => {
                let tool = call.name.as_deref().unwrap_or_default();
                if !self.rules.is_empty() && !self.rules.allow(tool) {
                    let sentence = format!("the configuration does not allow `{tool}`");
                    return Err(Error::unsent(ErrorCode::CannotExecute, sentence));
                }
                if !is_mirrored {
                    return self.link.request(call).await;
                }
                call.headers = self.headers_of(&call);
                let answer = self.link.request(call.clone()).await?;
                if !tells_mismatch(&answer) {
                    return Ok(answer);
                }
                self.read_marks(&call).await?;
                call.headers = self.headers_of(&call);
                self.link.request(call).await
            }
            "tools/list" if is_mirrored || !self.rules.is_empty() => {
                let (answer, mirrors) = sift_tools(self.link.request(call).await?, &self.rules);
                self.mirrors().extend(mirrors);
                Ok(answer)
            }
            _ => self.link.request(call).await,
        }
    }

    /// Forgets which arguments are repeated: the tools have changed.
    pub(crate) fn forget_marks(&self) {
        self.mirrors().clear();
    }

    /// Returns the headers that repeat arguments of a call.
    fn headers_of(&self, call: &Call) -> Vec<(http::HeaderName, http::HeaderValue)> {
        let mirror = call.name.as_ref().and_then(|name| self.mirrors().get(name).cloned());
        let Some(mirror) = mirror else { return Vec::new() };
        let params = call.params().and_then(|params| serde_json::from_slice::<Value>(&params).ok());
        mirror.headers(params.as_ref().and_then(|params| params.get("arguments")).unwrap_or(&Value::Null))
    }

    /// Lists the tools for their marks alone.
    async fn read_marks(&self, call: &Call) -> Result<()> {
        self.forget_marks();
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let mut params = Map::new();
            params.insert("_meta".to_owned(), Value::Object(splice::envelope()));
            params.extend(cursor.map(|cursor| ("cursor".to_owned(), cursor)));
            let list =
                json!({"jsonrpc": "2.0", "id": "wakashu-marks", "method": "tools/list", "params": params});
            let mut list = Call::read(Bytes::from(list.to_string())).map_err(refused)?;
            list.patience = call.patience;
            let (answer, mirrors) = sift_tools(self.link.request(list).await?, &Rules::default());
            self.mirrors().extend(mirrors);
            cursor = answer.result()?.get_mut("nextCursor").map(Value::take).filter(Value::is_string);
            if cursor.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn mirrors(&self) -> MutexGuard<'_, HashMap<String, Mirror>> {
        self.mirrors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells whether the server refused a request because its headers do not repeat it.
fn tells_mismatch(answer: &Answer) -> bool {
    answer.envelope.error().is_some()
        && answer.result().is_err_and(|error| error.rpc_code() == Some(i64::from(code::HEADER_MISMATCH)))
}

/// Says why a message of ours or of a host's was not sent.
pub(crate) fn refused(refused: Refused) -> Error {
    Error::unsent(ErrorCode::InvalidRequest, refused.error.message)
}
