//! The servers of a configuration file, and how those that are programs are started: by this program, executed again.

use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use wakashu_client::Config;
use wakashu_client::helper::Helper;

/// Where a configuration is looked for when none is named.
const USUAL_FILES: [&str; 2] = ["mcp.config.yaml", ".mcp.json"];

/// The first argument of a helper. No verb: people have no use for it.
const HELPER: &str = "__helper";

/// Runs as the helper that starts a server, if that is what this program was executed for. Must come before any thread.
pub(crate) fn run_as_helper() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    if args.next().as_deref() != Some(OsStr::new(HELPER)) {
        return None;
    }
    #[cfg(unix)]
    return Some(wakashu_client::helper::run(args));
    #[cfg(not(unix))]
    None
}

/// Returns how servers that are programs are started. On Windows a job object does the helper's work.
pub(crate) fn helper() -> io::Result<Option<Helper>> {
    if !cfg!(unix) {
        return Ok(None);
    }
    // By this name it is this very program, even after another was installed in its place.
    let program = if cfg!(target_os = "linux") { "/proc/self/exe".into() } else { std::env::current_exe()? };
    Ok(Some(Helper { program, args: vec![HELPER.into()] }))
}

/// Reads the configuration; warnings about it go to stderr.
pub(crate) fn read(file: Option<&Path>) -> anyhow::Result<Config> {
    let usual = || USUAL_FILES.iter().map(Path::new).find(|file| file.exists());
    let Some(file) = file.or_else(usual) else {
        anyhow::bail!(
            "there is no {} in this folder: name a configuration with --config",
            USUAL_FILES.join(" or ")
        );
    };
    let mut config = Config::read(file).map_err(|error| anyhow::anyhow!("{}:\n{error}", file.display()))?;
    for warning in &config.warnings {
        writeln!(io::stderr(), "warning: {}: {warning}", file.display())?;
    }
    config.options.helper = helper()?;
    Ok(config)
}
