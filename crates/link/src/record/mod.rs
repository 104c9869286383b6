//! Writes the fate of every packet to a file while the link runs.
//!
//! A separate thread writes; forwarding threads only put events into a bounded channel. Events that
//! do not fit are counted in `stats`; a forwarding thread never waits.

mod csv;
pub mod event;
mod pcapng;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, bail};

use crate::model::Packet;
use csv::Csv;
use event::{Event, Fate, Form, Side};
use pcapng::PcapNg;

/// Events that may wait to be written: some 24 MB with packets of 1500 bytes.
const ROOM: usize = 16_384;

/// One direction's end of a record. Dropping the last one ends the record.
#[derive(Clone)]
pub struct Recorder {
    events: SyncSender<Event>,
    missed: Arc<AtomicU64>,
    side: Side,
    frames: bool,
}

/// A record that is being written.
pub struct Record {
    path: PathBuf,
    missed: Arc<AtomicU64>,
    writer: JoinHandle<Result<()>>,
}

impl Recorder {
    /// Records a packet's fate. Never waits; if the channel is full, the packet is counted as
    /// missed.
    pub fn note(&self, packet: &Packet, fate: Fate, frame: &[u8]) {
        let event = Event {
            side: self.side,
            packet: *packet,
            fate,
            frame: if self.frames {
                frame.to_vec()
            } else {
                Vec::new()
            },
        };
        if self.events.try_send(event).is_err() {
            self.missed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Record {
    /// Starts a record; the suffix `.csv` or `.pcapng` decides the format. `offset_ns` is the wall
    /// clock minus the monotonic one. Returns the record, and its ends for up and down.
    pub fn start(path: &Path, offset_ns: u64) -> Result<(Self, Recorder, Recorder)> {
        let pcapng = match path.extension().and_then(|suffix| suffix.to_str()) {
            Some("csv") => false,
            Some("pcapng") => true,
            _ => bail!("record {} must end in .csv or .pcapng", path.display()),
        };
        let attempt = || format!("cannot write the record {}", path.display());
        let mut file = BufWriter::new(File::create(path).with_context(attempt)?);
        let form: Box<dyn Form> = if pcapng {
            Box::new(PcapNg::begin(&mut file).with_context(attempt)?)
        } else {
            Box::new(Csv::begin(&mut file).with_context(attempt)?)
        };
        let (events, receiver) = sync_channel(ROOM);
        let missed = Arc::new(AtomicU64::new(0));
        let up = Recorder {
            events,
            missed: missed.clone(),
            side: Side::Up,
            frames: pcapng,
        };
        let down = Recorder {
            side: Side::Down,
            ..up.clone()
        };
        let thread = thread::Builder::new().name("record".to_owned());
        let writer = thread
            .spawn(move || write_all(&receiver, form, offset_ns, file))
            .context("cannot start a thread")?;
        let record = Self {
            path: path.to_owned(),
            missed,
            writer,
        };
        Ok((record, up, down))
    }

    /// Number of events for which there was no room.
    pub fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }

    /// Waits until every event is in the file. Call this after both recorders are gone.
    pub fn finish(self) -> Result<()> {
        let written = self.writer.join();
        written
            .unwrap_or_else(|_| bail!("the thread that writes it ended"))
            .with_context(|| format!("cannot write the record {}", self.path.display()))
    }
}

fn write_all(
    events: &Receiver<Event>,
    mut form: Box<dyn Form>,
    offset_ns: u64,
    mut file: BufWriter<File>,
) -> Result<()> {
    loop {
        let event = match events.try_recv() {
            Ok(event) => event,
            Err(TryRecvError::Disconnected) => break,
            Err(TryRecvError::Empty) => {
                file.flush()?; // so that a killed link leaves what there was
                match events.recv() {
                    Ok(event) => event,
                    Err(_) => break,
                }
            }
        };
        form.write(&event, offset_ns, &mut file)?;
    }
    file.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::effects::loss::LOST;

    fn recorded(suffix: &str, count: u64) -> (String, u64) {
        let name = format!("dragstrip-record-{}-{suffix}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let (record, up, down) = Record::start(&path, 1_000).unwrap();
        for index in 0..count {
            let packet = Packet::new(index, 60, index, 0);
            up.note(&packet, Fate::Sent(index + 5), &[7; 74]);
        }
        let lost = Packet::new(0, 60, 9, 0);
        down.note(&lost, Fate::Dropped(LOST), &[7; 74]);
        drop((up, down));
        let missed = record.missed();
        record.finish().unwrap();
        let written = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        std::fs::remove_file(path).unwrap();
        (written, missed)
    }

    #[test]
    fn csv_says_what_became_of_every_packet() {
        let (written, missed) = recorded("a.csv", 1);
        let lines: Vec<&str> = written.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "up,0,0,60,1000,1000,1005,,sent,0",
                "down,0,0,60,1009,1009,,,loss,0"
            ]
        );
        assert_eq!(missed, 0);
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let count = 20 * ROOM as u64;
        let (written, missed) = recorded("b.csv", count);
        assert_eq!(written.lines().count() as u64 + missed, count + 2);
    }

    #[test]
    fn another_suffix_is_refused() {
        let error = Record::start(Path::new("/nowhere/log.txt"), 0)
            .err()
            .unwrap();
        assert!(error.to_string().contains(".csv or .pcapng"));
    }
}
