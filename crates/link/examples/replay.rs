//! Replays arrivals through the model of one direction: `replay CONFIG < ARRIVALS > FATES`.
//!
//! CONFIG is the link's configuration as JSON; its direction `down` is used. ARRIVALS has one packet
//! per line: arrival in ns, flow, ECN code point, and bytes of the IP packet. FATES has one packet
//! per line, in the order in which they leave: index, ns from arrival to line, whether it was marked,
//! and why it was dropped (`-` if it was not).

use std::io::{self, BufWriter, Write};

use anyhow::{Context, Result};
use dragstrip_link::config::Config;
use dragstrip_link::header::{Ecn, Header};
use dragstrip_link::model::Packet;

fn main() -> Result<()> {
    let asked = std::env::args().nth(1).context("give a configuration")?;
    let config: Config = serde_json::from_str(&asked)?;
    let mut pipeline = config.understood()?.down_pipeline();
    pipeline.begin(0);
    let mut out = BufWriter::new(io::stdout().lock());
    for (index, line) in io::stdin().lines().enumerate() {
        let packet = read(index as u64, &line?).context("a line has four numbers")?;
        while let Some(left) = pipeline.release(packet.arrival_ns) {
            write(&mut out, &left)?;
        }
        if let Some(left) = pipeline.take(packet) {
            write(&mut out, &left)?;
        }
    }
    while let Some(left) = pipeline.release(u64::MAX) {
        write(&mut out, &left)?;
    }
    Ok(out.flush()?)
}

fn read(index: u64, line: &str) -> Option<Packet> {
    let mut numbers = line.split(',').map(|word| word.parse::<u64>().ok());
    let (at_ns, flow, ecn, bytes) = (
        numbers.next()??,
        numbers.next()??,
        numbers.next()??,
        numbers.next()??,
    );
    let code_points = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
    let header = Header {
        flow,
        ecn: *code_points.get(usize::try_from(ecn).ok()?)?,
        ..Header::default()
    };
    Some(Packet {
        header,
        ..Packet::new(index, u32::try_from(bytes).ok()?, at_ns, 0)
    })
}

fn write(out: &mut impl Write, left: &Packet) -> Result<()> {
    let waited = left.waited_ns.map_or("-".to_owned(), |ns| ns.to_string());
    let cause = left.dropped.map_or("-", |cause| cause.name);
    Ok(writeln!(
        out,
        "{},{waited},{},{cause}",
        left.index,
        u8::from(left.marked)
    )?)
}
