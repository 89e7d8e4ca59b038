//! `wakashu ask`: any server, asked from a terminal.

mod arguments;
mod show;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Map, Value};
use wakashu_client::config::{Options, ServerConfig, Transport};
use wakashu_client::error::{Error, ErrorCode};
use wakashu_client::server::{Server, Tool};
use wakashu_client::{Config, Manager};

use crate::servers;

/// Ask any server: what it has, or one of its tools, prompts or resources
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wakashu ask http://127.0.0.1:3000/mcp                                 what there is
  wakashu ask http://127.0.0.1:3000/mcp search_poems query=月 limit=3
  wakashu ask poems get_poem round_title=第1回 rank=1 --save pictures   a server of the configuration
  wakashu ask poems wakashu://rounds                                    a resource
  wakashu ask list_directory path=/tmp -- mcp-server-filesystem /tmp    a program

`key=value` is read as the tool's schema says, text otherwise; `key:=json` is JSON.
Of equal names a tool goes before a prompt, a prompt before a resource.

Exit codes: 0 answered; 1 the server says that it failed; 2 could not run: the server cannot be reached, has nothing
of that name, or the arguments do not fit.")]
pub(crate) struct Ask {
    /// The server (an address, or a name in the configuration; a program goes after `--`), then a tool, prompt or
    /// resource, then its arguments
    #[arg(value_name = "TARGET [NAME] [key=value…|key:=json]")]
    words: Vec<String>,
    /// Print the result as one line of JSON
    #[arg(long)]
    json: bool,
    /// Save pictures and other files in this folder
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
    /// The configuration [default: mcp.config.yaml or .mcp.json in this folder]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A file of headers that go with every request to an address, a line `Name: value` each
    #[arg(long, value_name = "FILE")]
    header_file: Option<PathBuf>,
    /// The program that is the server, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// How an answer went.
enum Outcome {
    /// It is here.
    Answered,
    /// The server says that it failed.
    Failed,
}

/// Asks and prints the answer.
pub(crate) fn run(ask: &Ask) -> anyhow::Result<ExitCode> {
    let (server, options, words) = ask.server()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let asked = runtime.block_on(async {
        let manager = Manager::new(options);
        let name = server.name.clone();
        let asked = match manager.register_server(server).await {
            Ok(()) => answer(ask, &manager, &name, &words).await,
            Err(error) => Err(error.into()),
        };
        manager.close().await;
        asked
    });
    match asked {
        Ok(Outcome::Answered) => Ok(ExitCode::SUCCESS),
        Ok(Outcome::Failed) => Ok(ExitCode::from(1)),
        Err(error) => match error.downcast::<Error>() {
            Ok(error) => {
                writeln!(io::stderr(), "error: {error}\nnext: {}", next_step(&error))?;
                let is_the_servers =
                    matches!(error.code, ErrorCode::ExecutionFailed | ErrorCode::RateLimitExceeded);
                Ok(ExitCode::from(if is_the_servers { 1 } else { 2 }))
            }
            Err(error) => Err(error),
        },
    }
}

impl Ask {
    /// Returns the server that is meant, and the words that are not its name.
    fn server(&self) -> anyhow::Result<(ServerConfig, Options, Vec<String>)> {
        if let [command, arguments @ ..] = self.command.as_slice() {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let options = Options { helper: servers::helper()?, ..Options::default() };
            return Ok((ServerConfig::stdio("server", command, &arguments), options, self.words.clone()));
        }
        let Some((target, words)) = self.words.split_first() else {
            anyhow::bail!("which server? an address, a name in the configuration, or a program after `--`");
        };
        if target.contains("://") {
            let mut server = ServerConfig::http("server", target);
            if let Transport::Http { headers_file, .. } = &mut server.transport {
                headers_file.clone_from(&self.header_file);
            }
            return Ok((server, Options::default(), words.to_vec()));
        }
        let Config { servers, options, .. } = servers::read(self.config.as_deref())?;
        let names: Vec<String> = servers.iter().map(|server| server.name.clone()).collect();
        match servers.into_iter().find(|server| server.name == *target) {
            Some(server) => Ok((server, options, words.to_vec())),
            None => anyhow::bail!("there is no server `{target}`: the configuration has {}", list(&names)),
        }
    }
}

async fn answer(ask: &Ask, manager: &Manager, name: &str, words: &[String]) -> anyhow::Result<Outcome> {
    let Some(server) = manager.server(name) else { anyhow::bail!("there is no server `{name}`") };
    let mut out = io::stdout().lock();
    let Some((wanted, given)) = words.split_first() else {
        let offer = show::Offer::read(manager, &server).await?;
        if ask.json {
            writeln!(out, "{}", offer.to_json())?;
        } else {
            offer.write(&mut out)?;
        }
        return Ok(Outcome::Answered);
    };
    if let Some(tool) = manager.get_tool(wanted) {
        let arguments = arguments::for_tool(&tool.tool, given)?;
        let result = manager.execute_tool(wanted, Value::Object(arguments)).await;
        let Some(data) = result.data else {
            return Err(explained(result.error, &tool.tool));
        };
        show::result(ask, wanted, &data, &mut out)?;
        return Ok(if result.success { Outcome::Answered } else { Outcome::Failed });
    }
    let prompts = server.list_prompts().await?;
    if let Some(prompt) = prompts.iter().find(|prompt| prompt.get("name").is_some_and(|name| name == wanted))
    {
        let arguments = arguments::for_prompt(prompt, given)?;
        let result = server.get_prompt(wanted, &arguments).await?;
        show::prompt(ask, &result, &mut out)?;
        return Ok(Outcome::Answered);
    }
    if let Some(uri) = resource(&server, wanted).await? {
        anyhow::ensure!(given.is_empty(), "a resource takes no arguments: {}", given.join(" "));
        let result = server.read_resource(&uri).await?;
        show::resource(ask, &result, &mut out)?;
        return Ok(Outcome::Answered);
    }
    let mut names: Vec<String> = manager.tools().into_iter().map(|tool| tool.tool.name).collect();
    names.extend(prompts.iter().filter_map(|prompt| Some(prompt.get("name")?.as_str()?.to_owned())));
    anyhow::bail!("the server has no tool, prompt or resource `{wanted}`: there are {}", list(&names))
}

/// Returns the address of the resource that is meant; what looks like an address may be one of a template.
async fn resource(server: &std::sync::Arc<Server>, wanted: &str) -> anyhow::Result<Option<String>> {
    let resources = server.list_resources().await?;
    let is_meant = |field: &str, entry: &&Value| entry.get(field).is_some_and(|value| value == wanted);
    let found = resources.iter().find(|entry| is_meant("uri", entry));
    let found = found.or_else(|| resources.iter().find(|entry| is_meant("name", entry)));
    let uri = found.and_then(|entry| entry.get("uri")?.as_str()).map(str::to_owned);
    Ok(uri.or_else(|| wanted.contains(':').then(|| wanted.to_owned())))
}

/// Says what a tool takes, where it was given something else.
fn explained(error: Option<Error>, tool: &Tool) -> anyhow::Error {
    let Some(error) = error else { return anyhow::anyhow!("`{}` gave nothing", tool.name) };
    if error.code != ErrorCode::InvalidParams {
        return error.into();
    }
    let takes = show::parameters(&tool.input_schema);
    let takes = if takes.is_empty() { "  nothing".to_owned() } else { takes.join("\n") };
    anyhow::anyhow!("{error}\n`{}` takes:\n{takes}", tool.name)
}

/// Says what to do next; of many attempts the last says why.
fn next_step(error: &Error) -> &'static str {
    let last = error.details.as_ref().and_then(|details| ErrorCode::parse(details.get("code")?.as_str()?));
    last.unwrap_or(error.code).next_step()
}

fn list(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        names => names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
    }
}

type Arguments = Map<String, Value>;
