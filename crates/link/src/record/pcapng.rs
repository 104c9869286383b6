//! pcapng (draft-ietf-opsawg-pcapng): a file Wireshark opens.

use std::io::Write;

use anyhow::Result;

use super::event::{Event, Fate, Form, Side};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const ETHERNET: u16 = 1;
const OPT_COMMENT: u16 = 1;
const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;

/// A pcapng file with one interface per direction. A packet's time is its arrival at the link; its
/// comment gives its fate.
pub struct PcapNg;

impl PcapNg {
    pub fn begin(file: &mut dyn Write) -> Result<Self> {
        let mut body = Vec::new();
        body.extend(BYTE_ORDER.to_le_bytes());
        body.extend([1, 0, 0, 0]); // version 1.0
        body.extend(u64::MAX.to_le_bytes()); // section length not given
        block(file, SECTION_HEADER, &body)?;
        for side in [Side::Up, Side::Down] {
            let mut body = Vec::new();
            body.extend(u32::from(ETHERNET).to_le_bytes()); // and two reserved bytes
            body.extend(0u32.to_le_bytes()); // no limit to a packet's length
            option(&mut body, IF_NAME, side.word().as_bytes());
            option(&mut body, IF_TSRESOL, &[9]); // ns
            option(&mut body, 0, &[]);
            block(file, INTERFACE, &body)?;
        }
        Ok(Self)
    }
}

impl Form for PcapNg {
    fn write(&mut self, event: &Event, offset_ns: u64, file: &mut dyn Write) -> Result<()> {
        let time_ns = event.packet.arrival_ns + offset_ns;
        let length = event.frame.len() as u32;
        let mut body = Vec::with_capacity(event.frame.len() + 200);
        for word in [
            event.side as u32,
            (time_ns >> 32) as u32,
            time_ns as u32,
            length,
            length,
        ] {
            body.extend(word.to_le_bytes());
        }
        padded(&mut body, &event.frame);
        option(&mut body, OPT_COMMENT, comment(event).as_bytes());
        option(&mut body, 0, &[]);
        block(file, ENHANCED_PACKET, &body)
    }
}

/// `up #12: due 10.000000 ms after its arrival, left 0.012 ms later, waited 3.000 ms in the queue`
fn comment(event: &Event) -> String {
    let packet = &event.packet;
    let ms = |ns: u64| ns as f64 / 1e6;
    let copy = if packet.copy { " (copy)" } else { "" };
    let mut text = format!("{} #{}{copy}: ", event.side.word(), packet.index);
    let due_ms = ms(packet.at_ns - packet.arrival_ns);
    text += &match event.fate {
        Fate::Sent(at_ns) => format!(
            "due {due_ms:.6} ms after its arrival, left {:.6} ms later",
            ms(at_ns.saturating_sub(packet.at_ns))
        ),
        fate => format!("dropped: {}, {due_ms:.6} ms after its arrival", fate.word()),
    };
    if let Some(waited_ns) = packet.waited_ns {
        text += &format!(", waited {:.6} ms in the queue", ms(waited_ns));
    }
    if packet.marked {
        text += ", marked CE";
    }
    text
}

fn block(file: &mut dyn Write, kind: u32, body: &[u8]) -> Result<()> {
    let length = (12 + body.len() as u32).to_le_bytes();
    file.write_all(&kind.to_le_bytes())?;
    file.write_all(&length)?;
    file.write_all(body)?;
    file.write_all(&length)?;
    Ok(())
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    padded(body, value);
}

fn padded(body: &mut Vec<u8>, value: &[u8]) {
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}
