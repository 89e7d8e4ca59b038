//! What a program may reach: files and TCP by Landlock, all other internet sockets by a filter of system calls.
//!
//! It is enforced by the [helper](crate::helper), before the program is executed. Where any of it cannot be enforced, on
//! other systems than Linux and on kernels before 6.7, the program is not started.
//!
//! Besides the folders configured, a program may read and execute what lies in [`SYSTEM_FOLDERS`], which programs need
//! to start, read [`READABLE`], use [`DEVICES`], and execute its own file. Sockets of the local machine (`AF_UNIX`) stay
//! within its reach.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Folders from which a program may read and execute.
pub const SYSTEM_FOLDERS: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/nix/store"];
/// Folders from which a program may read. Landlock keeps it from looking into other processes through `/proc`.
pub const READABLE: &[&str] = &["/etc", "/proc", "/sys/devices/system", "/sys/fs/cgroup"];
/// Devices that a program may read and write.
pub const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// What a program may reach.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    /// Folders and files it may read and execute.
    pub read: Vec<PathBuf>,
    /// Folders and files it may change as well.
    pub write: Vec<PathBuf>,
    /// Whether it may use the network.
    pub network: bool,
}

impl Sandbox {
    /// Writes it as an argument of the helper.
    pub(crate) fn to_argument(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads it back. What cannot be read is an error: nothing is ever started without the sandbox it asks for.
    #[cfg(unix)]
    pub(crate) fn from_argument(argument: &OsStr) -> io::Result<Self> {
        let text = argument.to_str().unwrap_or_default();
        serde_json::from_str(text)
            .map_err(|error| io::Error::other(format!("the sandbox is not readable: {error}")))
    }

    /// Confines this thread and all it starts. `program` is what will be executed.
    #[cfg(all(unix, not(target_os = "linux")))]
    pub(crate) fn enforce(&self, _program: &OsStr) -> io::Result<()> {
        Err(io::Error::other("a sandbox can only be enforced on Linux"))
    }

    /// Confines this thread and all it starts. `program` is what will be executed.
    #[cfg(target_os = "linux")]
    pub(crate) fn enforce(&self, program: &OsStr) -> io::Result<()> {
        linux::confine(self, program)
            .map_err(|problem| io::Error::other(format!("the sandbox cannot be enforced: {problem}")))
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeMap;
    use std::error::Error;
    use std::ffi::OsStr;
    use std::path::{Path, PathBuf};

    use landlock::{
        ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd,
        Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetStatus,
    };
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule,
    };

    use super::{DEVICES, READABLE, SYSTEM_FOLDERS, Sandbox};

    type Outcome<T> = Result<T, Box<dyn Error>>;

    /// The version of Landlock that knows everything asked of it here, TCP included: Linux 6.7.
    const NEEDED: ABI = ABI::V4;

    pub(super) fn confine(sandbox: &Sandbox, program: &OsStr) -> Outcome<()> {
        let (all, read) = (AccessFs::from_all(NEEDED), AccessFs::from_read(NEEDED));
        let read_only = read & !AccessFs::Execute;
        let mut rules =
            Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(all)?;
        if !sandbox.network {
            rules = rules.handle_access(AccessNet::from_all(NEEDED))?;
        }
        let mut rules = rules.create()?;
        let there =
            |paths: &[&str]| paths.iter().map(PathBuf::from).filter(|path| path.exists()).collect::<Vec<_>>();
        rules = allow(rules, &there(SYSTEM_FOLDERS), read)?;
        rules = allow(rules, &there(READABLE), read_only)?;
        rules = allow(rules, &there(DEVICES), all)?;
        rules = allow(rules, &find(program).into_iter().collect::<Vec<_>>(), read)?;
        rules = allow(rules, &sandbox.read, read)?;
        rules = allow(rules, &sandbox.write, all)?;
        let status = rules.restrict_self()?;
        if status.ruleset != RulesetStatus::FullyEnforced || !status.no_new_privs {
            return Err("the kernel enforces only a part of it".into());
        }
        if !sandbox.network {
            seccompiler::apply_filter(&without_sockets()?)?;
        }
        Ok(())
    }

    fn allow(
        mut rules: RulesetCreated,
        paths: &[PathBuf],
        access: BitFlags<AccessFs>,
    ) -> Outcome<RulesetCreated> {
        for path in paths {
            let named = |problem: &dyn Error| format!("`{}`: {problem}", path.display());
            let opened = PathFd::new(path).map_err(|error| named(&error))?;
            let is_folder = path.metadata().map_err(|error| named(&error))?.is_dir();
            let access = if is_folder { access } else { access & AccessFs::from_file(NEEDED) };
            rules = rules.add_rule(PathBeneath::new(opened, access)).map_err(|error| named(&error))?;
        }
        Ok(rules)
    }

    /// Returns the file that will be executed.
    fn find(program: &OsStr) -> Option<PathBuf> {
        if Path::new(program).components().count() > 1 {
            return Some(PathBuf::from(program));
        }
        let folders = std::env::var_os("PATH")?;
        std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|file| file.is_file())
    }

    /// Builds the filter that refuses sockets of the internet, and the ring that could open them unseen.
    fn without_sockets() -> Outcome<BpfProgram> {
        let families = [libc::AF_INET, libc::AF_INET6, libc::AF_PACKET];
        let refused = families.iter().map(|family| {
            let family = u64::try_from(*family)?;
            let is_it = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, family)?;
            Ok(SeccompRule::new(vec![is_it])?)
        });
        let refused = refused.collect::<Outcome<Vec<_>>>()?;
        let mut calls =
            BTreeMap::from([(libc::SYS_socket, refused.clone()), (libc::SYS_io_uring_setup, vec![])]);
        if cfg!(target_arch = "x86_64") {
            // The same calls by the numbers of the x32 interface.
            const X32: i64 = 0x4000_0000;
            calls.insert(libc::SYS_socket | X32, refused);
            calls.insert(libc::SYS_io_uring_setup | X32, vec![]);
        }
        let denied = SeccompAction::Errno(u32::try_from(libc::EACCES)?);
        let filter =
            SeccompFilter::new(calls, SeccompAction::Allow, denied, std::env::consts::ARCH.try_into()?)?;
        Ok(filter.try_into()?)
    }
}
