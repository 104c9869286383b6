//! Checks whether an input can be loaded. Errors name the field.

use anyhow::{Context, Result, ensure};
use http::{Method, Uri};

use crate::input::{After, Load, Page, PageEvent, Resource, ResourceId, TlsVersion};

/// More than any page has; a graph is kept in memory several times over.
const MOST_RESOURCES: usize = 20_000;
const LONGEST_MS: f64 = 3_600_000.0;

impl Load {
    /// Returns an error that names the field if this input cannot be loaded.
    pub fn check(&self) -> Result<()> {
        let limits = &self.limits;
        ensure!(
            (1..=3_600_000).contains(&limits.time_ms),
            "load.limits.time_ms: {} is not between 1 and 3600000",
            limits.time_ms
        );
        ensure!(
            limits.quiet_ms <= limits.time_ms,
            "load.limits.quiet_ms: {} is more than time_ms",
            limits.quiet_ms
        );
        ensure!(
            (1..=64).contains(&self.sockets.per_host) && self.sockets.total > 0,
            "load.sockets: per_host must be between 1 and 64, total at least 1"
        );
        let early = self.tls.early_data;
        let can = self.tls.resumption && self.tls.version == TlsVersion::V1_3;
        ensure!(
            !early || can,
            "load.tls.early_data: needs version \"1.3\" and resumption"
        );
        self.page.check()
    }
}

impl Page {
    fn check(&self) -> Result<()> {
        let count = self.resources.len();
        ensure!(
            (1..=MOST_RESOURCES).contains(&count),
            "load.page.resources: {count} are not between 1 and {MOST_RESOURCES}"
        );
        millis(self.load_event.delay_ms).context("load.page.load_event.delay_ms")?;
        for (id, resource) in self.resources.iter().enumerate() {
            let place = || format!("load.page.resources[{id}]");
            resource.check(id, count).with_context(place)?;
        }
        if let Some(tight) = &self.tight {
            let known = tight.until.iter().all(|id| *id < count);
            ensure!(
                known && tight.limit > 0,
                "load.page.tight: a limit of 0, or a resource that is not there"
            );
        }
        check_order(self)
    }
}

impl Resource {
    fn check(&self, id: ResourceId, count: usize) -> Result<()> {
        let url: Uri = self
            .url
            .parse()
            .with_context(|| format!("url: {}", self.url))?;
        let known = matches!(url.scheme_str(), Some("https" | "http")) && url.host().is_some();
        ensure!(
            known,
            "url: {} is not an absolute https or http URL",
            self.url
        );
        let _: Method = self
            .method
            .parse()
            .with_context(|| format!("method: {}", self.method))?;
        millis(self.delay_ms).context("delay_ms")?;
        millis(self.process_ms).context("process_ms")?;
        ensure!(
            self.after.is_none() == (id == 0),
            "after: every resource but the document needs it"
        );
        let parent = match self.after {
            Some(After::Resource(after)) => Some(after.resource),
            Some(After::Event(PageEvent::LoadEvent)) => {
                ensure!(
                    !self.load_event,
                    "load_event: it cannot wait for what waits for it"
                );
                None
            }
            None => None,
        };
        ensure!(
            id != 0 || self.also.is_empty(),
            "also: the document waits for nothing"
        );
        for other in self.also.iter().copied().chain(parent) {
            ensure!(other < count, "after, also: there is no resource {other}");
        }
        Ok(())
    }
}

/// Returns an error if this is no length of time that a load can have.
fn millis(ms: f64) -> Result<()> {
    ensure!(
        (0.0..=LONGEST_MS).contains(&ms),
        "{ms} is not between 0 and {LONGEST_MS} ms"
    );
    Ok(())
}

/// An error if some resource would never be requested, because it waits for itself.
fn check_order(page: &Page) -> Result<()> {
    let mut waits = vec![0; page.resources.len()];
    let mut waiting: Vec<Vec<ResourceId>> = vec![Vec::new(); page.resources.len()];
    for (id, resource) in page.resources.iter().enumerate() {
        let parent = match resource.after {
            Some(After::Resource(after)) => Some(after.resource),
            _ => None,
        };
        for other in resource.also.iter().copied().chain(parent) {
            waiting[other].push(id);
            waits[id] += 1;
        }
    }
    let mut free: Vec<ResourceId> = (0..waits.len()).filter(|id| waits[*id] == 0).collect();
    while let Some(id) = free.pop() {
        for other in std::mem::take(&mut waiting[id]) {
            waits[other] -= 1;
            if waits[other] == 0 {
                free.push(other);
            }
        }
    }
    let stuck = waits.iter().position(|waits| *waits > 0);
    ensure!(
        stuck.is_none(),
        "load.page.resources[{}].after, also: it waits for itself, directly or through others",
        stuck.unwrap_or_default()
    );
    Ok(())
}
