//! `wakashu` as people and workflows use it: `smoke`, `ask`, `gateway`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod ask;
mod gateway;
mod smoke;

use std::process::{Command, Output};

use wakashu_tests::program;

/// Returns `wakashu` with nothing of this environment that could change what it does.
fn wakashu() -> Command {
    let mut command = Command::new(program("wakashu"));
    for variable in ["WAKASHU_SMOKE_TOKEN", "WAKASHU_LANGUAGE", "RUST_LOG"] {
        command.env_remove(variable);
    }
    command
}

/// Returns exit code, stdout and stderr.
fn said(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}
