//! One package from a Debian archive, without touching the machine's own package lists.
//!
//! The machine already trusts an archive: its entries say where it is and which keys sign it. A
//! package that the machine's release does not have may be in another suite of the same archive, so
//! the entry is copied with that suite and apt is pointed at the copy, with lists and cache of its
//! own.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Refusal, limited, program, run};
use crate::Error;
use crate::environment::Environment;

/// Suites of Debian that may have a newer compiler than the machine's own release.
const NEWER_SUITES: [&str; 2] = ["trixie-backports", "stable-backports"];

/// Where a machine describes itself.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    /// apt's configuration.
    pub apt: PathBuf,
    /// The description of the release.
    pub os_release: PathBuf,
}

impl Machine {
    /// This one.
    pub fn this() -> Self {
        Self { apt: "/etc/apt".into(), os_release: "/etc/os-release".into() }
    }
}

/// An archive that the machine uses, as the fields of a deb822 entry without suites.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Archive {
    suites: Vec<String>,
    fields: String,
}

/// Fetches `package` in exactly the upstream version `version` into `dir`.
pub(super) fn download(
    env: &Environment,
    machine: &Machine,
    package: &str,
    version: &str,
    dir: &Path,
) -> Result<PathBuf, Refusal> {
    let program = program(env, "apt-get")?;
    let archives = archives(machine);
    let mut reasons = Vec::new();
    for (archive, suites) in candidates(&archives, machine) {
        let work = dir.join("apt");
        fs::create_dir_all(work.join("lists/partial")).map_err(Error::io("create", &work))?;
        fs::create_dir_all(work.join("cache/archives/partial"))
            .map_err(Error::io("create", &work))?;
        let list = work.join("archive.sources");
        fs::write(&list, format!("Types: deb\nSuites: {suites}\n{}", archive.fields))
            .map_err(Error::io("write", &list))?;
        let apt = |arguments: &[&str]| {
            let mut command = limited(env, &program);
            let mut option = |name: &str, value: &Path| {
                command.arg("-o").arg(format!("{name}={}", value.display()));
            };
            option("Dir::Etc::SourceList", &list);
            option("Dir::Etc::SourceParts", Path::new("/dev/null"));
            option("Dir::State::Lists", &work.join("lists"));
            option("Dir::Cache", &work.join("cache"));
            // Without it apt gives up root for a user that cannot write here.
            option("APT::Sandbox::User", Path::new("root"));
            option("APT::Update::Error-Mode", Path::new("any"));
            option("Acquire::Languages", Path::new("none"));
            option("Acquire::Retries", Path::new("1"));
            command.arg("-q").args(arguments).current_dir(&work);
            command
        };
        let fetched = run(&mut apt(&["update"]), "apt-get update").and_then(|_| {
            // An archive lists several versions, and the newest is not the compiler's.
            let exactly = format!("{package}={version}*");
            run(&mut apt(&["download", &exactly]), &format!("apt-get download {exactly}"))
        });
        match fetched {
            Ok(_) => {
                let files = fs::read_dir(&work).map_err(Error::io("read", &work))?;
                let archive = files
                    .filter_map(|file| Some(file.ok()?.path()))
                    .find(|path| path.extension().is_some_and(|extension| extension == "deb"));
                match archive {
                    Some(archive) => return Ok(archive),
                    None => reasons.push(format!("{suites}: apt-get left no package")),
                }
            }
            Err(Refusal::Closed(reason)) => reasons.push(format!("{suites}: {reason}")),
            Err(fatal) => return Err(fatal),
        }
        fs::remove_dir_all(&work).map_err(Error::io("remove", &work))?;
    }
    if reasons.is_empty() {
        reasons.push(format!("no Debian archive in {}", machine.apt.display()));
    }
    Err(Refusal::Closed(reasons.join("; ")))
}

/// The archives to ask, each with the suites to ask it for, most likely first.
fn candidates<'a>(archives: &'a [Archive], machine: &Machine) -> Vec<(&'a Archive, String)> {
    let release = fs::read_to_string(&machine.os_release).unwrap_or_default();
    let field = |name: &str| {
        let value = release.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        value.map(|value| value.trim_matches('"').to_owned())
    };
    let codename = field("VERSION_CODENAME");
    // Other vendors' archives, and the one of security updates, have no further suites.
    let distribution = |archive: &&Archive| {
        archive.suites.iter().any(|suite| {
            ["stable", "testing", "unstable", "sid"].contains(&suite.as_str())
                || codename.as_deref().is_none_or(|codename| codename == suite)
        })
    };
    let main: Vec<_> = archives.iter().filter(distribution).collect();
    let mut candidates = Vec::new();
    if field("ID").as_deref() == Some("debian") {
        for suite in NEWER_SUITES {
            candidates.extend(main.iter().map(|&archive| (archive, suite.to_owned())));
        }
    }
    candidates.extend(main.iter().map(|&archive| (archive, archive.suites.join(" "))));
    candidates
}

/// The entries of the machine that are switched on.
fn archives(machine: &Machine) -> Vec<Archive> {
    let mut files = vec![machine.apt.join("sources.list")];
    if let Ok(parts) = fs::read_dir(machine.apt.join("sources.list.d")) {
        let mut parts: Vec<_> = parts.filter_map(|part| Some(part.ok()?.path())).collect();
        parts.sort();
        files.extend(parts);
    }
    let mut archives = Vec::new();
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("list") => archives.extend(text.lines().filter_map(one_line_entry)),
            Some("sources") => archives.extend(stanzas(&text)),
            _ => {}
        }
    }
    archives.dedup();
    archives
}

/// An entry of the form `deb [option=value …] URI suite component …`.
fn one_line_entry(line: &str) -> Option<Archive> {
    let rest = line.trim().strip_prefix("deb")?;
    let rest = rest.strip_prefix(char::is_whitespace)?.trim_start();
    let (options, rest) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => ("", rest),
    };
    let mut words = rest.split_whitespace().take_while(|word| !word.starts_with('#'));
    let (uri, suite) = (words.next()?, words.next()?);
    let components: Vec<_> = words.collect();
    let mut fields = format!("URIs: {uri}\nComponents: {}\n", components.join(" "));
    for option in options.split_whitespace() {
        let (name, value) = option.split_once('=')?;
        let name = match name {
            "signed-by" => "Signed-By",
            "trusted" => "Trusted",
            "arch" => "Architectures",
            _ => continue,
        };
        fields += &format!("{name}: {}\n", value.replace(',', " "));
    }
    Some(Archive { suites: vec![suite.to_owned()], fields })
}

/// The entries of a deb822 file: stanzas of `Name: value`, values continued by indented lines.
fn stanzas(text: &str) -> Vec<Archive> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    lines.split(|line| line.trim().is_empty()).filter_map(stanza).collect()
}

fn stanza(lines: &[&str]) -> Option<Archive> {
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in lines {
        if line.starts_with(char::is_whitespace) {
            let (_, value) = fields.last_mut()?;
            *value += &format!("\n{line}");
        } else {
            let (name, value) = line.split_once(':')?;
            fields.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    let field = |name: &str| fields.iter().find(|(n, _)| n == name).map(|(_, value)| &**value);
    let off = field("enabled").is_some_and(|value| value.eq_ignore_ascii_case("no"));
    if off || !field("types")?.split_whitespace().any(|kind| kind == "deb") {
        return None;
    }
    let suites = field("suites")?.split_whitespace().map(str::to_owned).collect();
    let copied = fields.iter().filter(|(name, _)| !["types", "suites"].contains(&&**name));
    let fields = copied.map(|(name, value)| format!("{name}: {value}\n")).collect();
    Some(Archive { suites, fields })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;

    #[test]
    fn both_forms_of_entries_are_read() {
        let line = one_line_entry(
            "deb [arch=amd64 signed-by=/k.gpg] mirror://x/debian bookworm main # note",
        );
        assert_eq!(
            line,
            Some(Archive {
                suites: vec!["bookworm".into()],
                fields: "URIs: mirror://x/debian\nComponents: main\nArchitectures: amd64\n\
                         Signed-By: /k.gpg\n"
                    .into(),
            })
        );
        assert_eq!(one_line_entry("# deb x y z"), None);
        assert_eq!(one_line_entry("deb-src x y z"), None);

        let text = "# head\nTypes: deb deb-src\nURIs: mirror://x/debian\nSuites: bookworm bookworm-updates\n\
                    Components: main\nSigned-By:\n -----BEGIN\n -----END\n\nTypes: deb\nEnabled: no\n\
                    URIs: mirror://y\nSuites: z\n";
        assert_eq!(
            stanzas(text),
            [Archive {
                suites: vec!["bookworm".into(), "bookworm-updates".into()],
                fields: "uris: mirror://x/debian\ncomponents: main\nsigned-by: \n -----BEGIN\n -----END\n"
                    .into(),
            }]
        );
    }

    #[test]
    fn only_the_distributions_own_archive_is_asked_for_other_suites() {
        let folder = Folder::new("debian-candidates");
        folder.write("apt/sources.list", "deb a://debian bookworm main\n");
        folder.write(
            "apt/sources.list.d/x.list",
            "deb a://vendor nodistro main\ndeb a://sec bookworm-security main\n",
        );
        folder.write("os-release", "ID=debian\nVERSION_CODENAME=bookworm\n");
        let machine = Machine { apt: folder.path("apt"), os_release: folder.path("os-release") };
        let archives = archives(&machine);
        assert_eq!(archives.len(), 3);
        let asked: Vec<_> = candidates(&archives, &machine)
            .into_iter()
            .map(|(archive, suites)| (archive.suites[0].clone(), suites))
            .collect();
        let own = || "bookworm".to_owned();
        assert_eq!(
            asked,
            [
                (own(), "trixie-backports".to_owned()),
                (own(), "stable-backports".to_owned()),
                (own(), own())
            ]
        );
    }
}
