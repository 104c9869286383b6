//! The command protocol: one JSON object per line in, one per line out (docs/reference/processes.md).

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use dragstrip_program::lines::{answer, stdin_lines};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::certs::Chain;
use crate::origin::Origin;
use crate::servers::Servers;
use crate::tuning::{Http, Quic, Tcp, Tls, Tuning};

#[derive(Deserialize)]
#[serde(tag = "cmd", rename_all = "lowercase", deny_unknown_fields)]
enum Command {
    Page {
        path: PathBuf,
        #[serde(default)]
        think: bool,
        #[serde(default)]
        servers: Servers,
    },
    Tune {
        #[serde(default)]
        tcp: Tcp,
        #[serde(default)]
        quic: Quic,
        #[serde(default)]
        tls: Tls,
        #[serde(default)]
        http: Http,
    },
    Qlog {
        folder: Option<PathBuf>,
    },
    Certificates {
        hosts: Vec<String>,
        #[serde(default)]
        chain: Chain,
    },
    Roots {},
    Close {},
    Log {},
    Connections {},
    Quit {},
}

/// Binds an origin, writes its root certificate of ECDSA to `ca_out` and obeys stdin until it ends or says
/// quit. `log` gets the request log as JSON lines; `http` is a port for http:// URLs and `plain` a
/// Unix socket to answer on as well.
///
/// One thread: everything the origin does is short, and a second one would only compete with the
/// browser for the other core.
pub fn run(
    port: u16,
    ca_out: &Path,
    log: Option<&Path>,
    http: Option<u16>,
    plain: Option<&Path>,
) -> Result<()> {
    let log = log.map(|path| {
        File::options()
            .create(true)
            .append(true)
            .open(path)
            .with_context(|| path.display().to_string())
    });
    let log = log.transpose()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let origin = Origin::bind(port, log)?;
        http.map_or(Ok(0), |port| origin.http(port))?;
        plain.map_or(Ok(()), |socket| origin.plain(socket))?;
        fs::write(ca_out, origin.root_pem()).with_context(|| ca_out.display().to_string())?;
        obey_stdin(&origin).await
    })
}

async fn obey_stdin(origin: &Origin) -> Result<()> {
    answer(
        &json!({ "ok": true, "ready": "dragstrip-origin", "version": env!("CARGO_PKG_VERSION") }),
    )?;
    let mut lines = stdin_lines();
    while let Some(line) = lines.recv().await {
        let line = line?;
        let command = match serde_json::from_str(&line) {
            Ok(command) => command,
            Err(error) => {
                answer(
                    &json!({ "ok": false, "error": format!("command not understood: {error}") }),
                )?;
                continue;
            }
        };
        if let Command::Quit {} = command {
            return answer(&json!({ "ok": true }));
        }
        match obey(command, origin).await {
            Ok(mut reply) => {
                reply["ok"] = json!(true);
                answer(&reply)?;
            }
            Err(error) => answer(&json!({ "ok": false, "error": format!("{error:#}") }))?,
        }
    }
    Ok(())
}

async fn obey(command: Command, origin: &Origin) -> Result<Value> {
    Ok(match command {
        Command::Page {
            path,
            think,
            servers,
        } => {
            origin.place(servers);
            json!(origin.page(&path, think)?)
        }
        Command::Tune {
            tcp,
            quic,
            tls,
            http,
        } => json!(origin.tune(Tuning {
            tcp,
            quic,
            tls,
            http,
        })?),
        Command::Qlog { folder } => {
            origin.qlog(folder);
            json!({})
        }
        Command::Certificates { hosts, chain } => json!(origin.certificates(&hosts, &chain)?),
        Command::Roots {} => json!({ "pem": origin.roots_pem()? }),
        Command::Close {} => {
            let (tcp, quic) = origin.close().await;
            json!({ "tcp": tcp, "quic": quic })
        }
        Command::Log {} => json!(origin.log()),
        Command::Connections {} => json!({ "connections": origin.connections() }),
        Command::Quit {} => json!({}),
    })
}
