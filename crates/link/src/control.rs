//! The program's JSON lines: docs/reference/processes.md, section dragstrip-link.

use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::mpsc::Receiver;

use anyhow::{Context, Result, anyhow, ensure};
use serde::{Deserialize, Serialize};

use crate::clock::both_ns;
use crate::config::{Config, StageName};
use crate::drops::Drops;
use crate::forward::{Epoch, Forwarder, Remote};
use crate::meter::Report;
use crate::model::Pipeline;
use crate::nat::Nat;
use crate::ports::Ports;
use crate::realtime::lock_memory;
use crate::record::Record;
use crate::socket::Interface;
use crate::steps::PhaseReport;

/// The two directions of a running link.
pub struct Link {
    up: Remote,
    down: Remote,
    client: Interface,
    origin: Interface,
    /// The kernel's counts of dropped packets at the time when counting began.
    dropped: Option<Drops>,
    record: Option<Record>,
    since_us: u64,
    /// The order of the effects; None if the link is not configured.
    order: Option<[Vec<StageName>; 2]>,
    nat: Nat,
    /// The moment from which the steps count, in ns of the forwarders' clock and of the Unix epoch.
    zero_ns: Option<(u64, u64)>,
}

#[derive(Deserialize)]
#[serde(tag = "cmd", rename_all = "snake_case", deny_unknown_fields)]
enum Command {
    Configure(Box<Config>),
    /// Configures the link as `configure` does, but keeps packets, counters and random streams.
    Change(Box<Config>),
    /// The steps count from this moment, in ns of the Unix epoch.
    Start {
        at_ns: u64,
    },
    Passthrough {},
    Stats {},
    Quit {},
}

#[derive(Serialize)]
#[serde(untagged)]
enum Answer {
    Ready {
        ready: &'static str,
        version: &'static str,
        realtime: bool,
    },
    Configured {
        config: Box<Config>,
    },
    Done {},
    Stats {
        since_us: u64,
        /// Packets that the record had no room for.
        record_missed: u64,
        up: Box<Report>,
        down: Box<Report>,
        /// What happened between steps; none without steps.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        phases: Vec<PhaseReport>,
    },
}

#[derive(Serialize)]
struct Line<T> {
    ok: bool,
    #[serde(flatten)]
    rest: T,
}

#[derive(Serialize)]
struct Failure {
    error: String,
}

impl Link {
    /// Starts forwarding between two interfaces, without delay.
    pub fn start(client: &str, origin: &str, mtu: usize, exact_timers: bool) -> Result<Self> {
        let client = Interface::find(client)?;
        let origin = Interface::find(origin)?;
        let mut link = Self {
            up: Remote::start("up", false, &client, &origin, mtu, exact_timers)?,
            down: Remote::start("down", true, &origin, &client, mtu, exact_timers)?,
            client,
            origin,
            dropped: None,
            record: None,
            since_us: 0,
            order: None,
            nat: Nat::default(),
            zero_ns: None,
        };
        link.pass_through()?;
        lock_memory();
        Ok(link)
    }

    /// Answers commands until the input ends or `quit` comes.
    pub fn serve(&mut self, input: impl BufRead, mut output: impl Write) -> Result<()> {
        let ready = Answer::Ready {
            ready: "dragstrip-link",
            version: env!("CARGO_PKG_VERSION"),
            realtime: self.up.realtime && self.down.realtime,
        };
        write_line(&mut output, &good(ready))?;
        for line in input.lines() {
            let line = line.context("cannot read stdin")?;
            let command = serde_json::from_str(&line)
                .map_err(|error| anyhow!("this line is not a command of dragstrip-link: {error}"));
            if matches!(command, Ok(Command::Quit {})) {
                self.pass_through()?;
                return write_line(&mut output, &good(Answer::Done {}));
            }
            match command.and_then(|command| self.answer(command)) {
                Ok(answer) => write_line(&mut output, &good(answer))?,
                Err(error) => write_line(&mut output, &bad(&error))?,
            }
        }
        self.pass_through()
    }

    fn answer(&mut self, command: Command) -> Result<Answer> {
        match command {
            Command::Configure(config) => {
                let config = config.understood()?;
                let (up, down) = (config.up_pipeline(), config.down_pipeline());
                let ports = Ports::new(config.ports.clone());
                self.become_link(up, down, ports, config.record.as_deref())?;
                self.expect(&config)?;
                self.order = Some(config.order());
                Ok(Answer::Configured {
                    config: Box::new(config),
                })
            }
            Command::Change(config) => {
                let config = config.understood()?;
                ensure!(
                    config.record.is_none(),
                    "a link that changes keeps its record: leave `record` out"
                );
                ensure!(
                    config.at.is_empty(),
                    "a link changes by steps or by command: leave `at` out"
                );
                let order = config.order();
                ensure!(
                    self.order.as_ref().is_none_or(|before| *before == order),
                    "a link that changes keeps the order of its stages: give `stages` as it was \
                     configured"
                );
                self.change(&config)?;
                self.order = Some(order);
                Ok(Answer::Configured {
                    config: Box::new(config),
                })
            }
            Command::Start { at_ns } => {
                let (now_ns, now_realtime_ns) = both_ns();
                let zero_ns = (now_ns + at_ns).saturating_sub(now_realtime_ns);
                self.nat.start(zero_ns);
                let up = self.up.ask(move |forwarder| forwarder.start(zero_ns));
                let down = self.down.ask(move |forwarder| forwarder.start(zero_ns));
                reply(&up)?;
                reply(&down)?;
                self.zero_ns = Some((zero_ns, at_ns));
                Ok(Answer::Done {})
            }
            Command::Passthrough {} => {
                self.pass_through()?;
                Ok(Answer::Done {})
            }
            Command::Stats {} => {
                let dropped = self.dropped_since();
                let up = self.up.ask(Forwarder::report);
                let down = self.down.ask(Forwarder::report);
                let (mut up, mut down) = (reply(&up)?, reply(&down)?);
                // A SYN is clamped for the MTU of the opposite direction, so the count belongs to
                // that direction.
                let clamped = up.by_effect.remove("clamped");
                let back = down.by_effect.remove("clamped");
                up.by_effect
                    .extend(back.map(|count| ("clamped".to_owned(), count)));
                down.by_effect
                    .extend(clamped.map(|count| ("clamped".to_owned(), count)));
                if let Some(dropped) = dropped {
                    dropped.tell(&mut up, &mut down);
                }
                let phases = self.phases()?;
                Ok(Answer::Stats {
                    since_us: self.since_us,
                    record_missed: self.record.as_ref().map_or(0, Record::missed),
                    up: Box::new(up),
                    down: Box::new(down),
                    phases,
                })
            }
            Command::Quit {} => Ok(Answer::Done {}),
        }
    }

    /// Packets that the kernel dropped since counting began; None if the kernel does not report
    /// them.
    fn dropped_since(&self) -> Option<Drops> {
        Drops::read(&self.client, &self.origin)?.since(self.dropped.as_ref()?)
    }

    /// Tells both directions of their steps.
    fn expect(&mut self, config: &Config) -> Result<()> {
        self.nat = config.nat();
        let [up_steps, down_steps] = config.steps();
        let (up_nat, down_nat) = (self.nat.clone(), self.nat.clone());
        let up = self
            .up
            .ask(move |forwarder| forwarder.expect(up_steps, up_nat));
        let down = (self.down).ask(move |forwarder| forwarder.expect(down_steps, down_nat));
        reply(&up)?;
        reply(&down)
    }

    /// Reports what both directions did between steps. A phase counts once both directions have
    /// begun it.
    fn phases(&self) -> Result<Vec<PhaseReport>> {
        let (up, down) = (
            self.up.ask(|it| it.phases()),
            self.down.ask(|it| it.phases()),
        );
        let both = reply(&up)?.into_iter().zip(reply(&down)?);
        let zero = self.zero_ns;
        let report = both.map(|((at_ns, up), (_, down))| {
            // The first phase begins with the link, before the steps' zero.
            let since =
                zero.and_then(|(zero_ns, unix_ns)| Some((at_ns.checked_sub(zero_ns)?, unix_ns)));
            PhaseReport {
                at_us: since.map_or(self.since_us, |(after_ns, unix_ns)| {
                    (unix_ns + after_ns) / 1000
                }),
                up,
                down,
                rebinding: since.and_then(|(after_ns, _)| self.nat.report(after_ns)),
            }
        });
        Ok(report.collect())
    }

    fn pass_through(&mut self) -> Result<()> {
        let (up, down) = (Pipeline::default(), Pipeline::default());
        self.order = None;
        // Connections that are still open keep their mappings until the next link.
        self.nat.end(both_ns().0);
        self.become_link(up, down, Ports::default(), None)
    }

    /// Changes both directions and keeps what is inside them.
    fn change(&self, config: &Config) -> Result<()> {
        let (up, down) = (config.up_pipeline(), config.down_pipeline());
        let ports = Ports::new(config.ports.clone());
        let up_ports = ports.clone();
        let up = self.up.ask(move |forwarder| forwarder.change(up, up_ports));
        let down = self
            .down
            .ask(move |forwarder| forwarder.change(down, ports));
        reply(&up)?;
        reply(&down)
    }

    /// Changes both directions at one instant: packets that arrive after it meet the new link. The
    /// record of the previous link is complete when this returns.
    fn become_link(
        &mut self,
        up: Pipeline,
        down: Pipeline,
        ports: Ports,
        record: Option<&Path>,
    ) -> Result<()> {
        let (since_ns, since_realtime_ns) = both_ns();
        let started = record.map(|path| Record::start(path, since_realtime_ns - since_ns));
        let (record, up_recorder, down_recorder) = match started.transpose()? {
            Some((record, up, down)) => (Some(record), Some(up), Some(down)),
            None => (None, None, None),
        };
        let (up_epoch, down_epoch) = {
            let epoch = Epoch::default();
            (epoch.clone(), epoch)
        };
        let up_ports = ports.clone();
        let up = self.up.ask(move |forwarder| {
            forwarder.configure(up, up_ports, up_epoch, up_recorder, since_ns);
        });
        let down = self.down.ask(move |forwarder| {
            forwarder.configure(down, ports, down_epoch, down_recorder, since_ns);
        });
        reply(&up)?;
        reply(&down)?;
        self.zero_ns = None;
        self.dropped = Drops::read(&self.client, &self.origin);
        self.since_us = since_realtime_ns / 1000;
        let before = std::mem::replace(&mut self.record, record);
        before.map_or(Ok(()), Record::finish)
    }
}

fn reply<T>(receiver: &Receiver<T>) -> Result<T> {
    receiver.recv().context("a forwarding thread has ended")
}

fn good<T: Serialize>(rest: T) -> Line<T> {
    Line { ok: true, rest }
}

fn bad(error: &anyhow::Error) -> Line<Failure> {
    Line {
        ok: false,
        rest: Failure {
            error: format!("{error:#}"),
        },
    }
}

fn write_line(output: &mut impl Write, line: &impl Serialize) -> Result<()> {
    let mut text = serde_json::to_string(line)?;
    text.push('\n');
    output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
        .context("cannot write stdout")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Direction, StageName};

    const PLAIN: &str = r#"{"rate_mbps":null,"delay_ms":0,"loss":0,"queue_ms":null}"#;

    fn error(line: &str) -> String {
        match serde_json::from_str::<Command>(line) {
            Err(error) => error.to_string(),
            Ok(Command::Configure(config)) => config.understood().unwrap_err().to_string(),
            Ok(_) => panic!("{line} was understood"),
        }
    }

    fn configure(up: &str) -> String {
        format!(r#"{{"cmd":"configure","seed":1,"up":{up},"down":{PLAIN}}}"#)
    }

    #[test]
    fn understands_a_network_in_its_own_units() {
        let up = r#"{"rate_mbps":1.4608,"delay_ms":37.5,"loss":0.017,"queue_ms":200}"#;
        let Ok(Command::Configure(config)) = serde_json::from_str(&configure(up)) else {
            panic!("not a command");
        };
        let understood = config.understood().unwrap();
        assert_eq!(understood.up.stages, Some(StageName::up()));
        assert_eq!(understood.down.stages, Some(StageName::down()));
        let up = Direction {
            stages: None,
            ..understood.up
        };
        assert_eq!(up, config.up);
    }

    #[test]
    fn takes_every_seed() {
        let line = configure(PLAIN).replace(":1,", &format!(":{},", u64::MAX));
        let Ok(Command::Configure(config)) = serde_json::from_str(&line) else {
            panic!("not a command");
        };
        assert_eq!(config.seed, u64::MAX);
    }

    #[test]
    fn unknown_commands_and_fields_are_errors() {
        assert!(error(r#"{"cmd":"reset"}"#).contains("unknown variant `reset`"));
        assert!(error(r#"{"cmd":"stats","verbose":true}"#).contains("unknown field `verbose`"));
        let up = PLAIN.replace('}', r#","lose":0}"#);
        assert!(error(&configure(&up)).contains("unknown field `lose`"));
        let up = PLAIN.replace('}', r#","stages":["lose"]}"#);
        assert!(error(&configure(&up)).contains("unknown stage `lose`, expected one of hosts, "));
        assert!(error("[]").contains("cmd"));
    }

    #[test]
    fn a_missing_rate_is_not_taken_for_unlimited() {
        let up = r#"{"delay_ms":0,"loss":0,"queue_ms":null}"#;
        assert!(error(&configure(up)).contains("missing field `rate_mbps`"));
    }

    #[test]
    fn values_without_sense_are_named() {
        for (field, value) in [
            ("rate_mbps", "0"),
            ("delay_ms", "-1"),
            ("loss", "1.01"),
            ("queue_ms", "0"),
        ] {
            let mut up: serde_json::Value = serde_json::from_str(PLAIN).unwrap();
            up[field] = serde_json::from_str(value).unwrap();
            let said = error(&configure(&up.to_string()));
            assert!(
                said.starts_with(&format!("up.{field} is {value}")),
                "{said}"
            );
        }
    }
}
