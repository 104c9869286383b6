//! One line per packet; times are ns of the Unix epoch.

use std::io::Write;

use anyhow::Result;

use super::event::{Event, Fate, Form};

pub struct Csv;

impl Csv {
    pub fn begin(file: &mut dyn Write) -> Result<Self> {
        writeln!(
            file,
            "direction,index,copy,bytes,arrival_ns,ideal_ns,actual_ns,waited_ns,fate,marked"
        )?;
        Ok(Self)
    }
}

impl Form for Csv {
    fn write(&mut self, event: &Event, offset_ns: u64, file: &mut dyn Write) -> Result<()> {
        let packet = &event.packet;
        let actual_ns = match event.fate {
            Fate::Sent(at_ns) => (at_ns + offset_ns).to_string(),
            _ => String::new(),
        };
        let waited_ns = packet.waited_ns.map_or(String::new(), |ns| ns.to_string());
        writeln!(
            file,
            "{},{},{},{},{},{},{actual_ns},{waited_ns},{},{}",
            event.side.word(),
            packet.index,
            u8::from(packet.copy),
            packet.bytes,
            packet.arrival_ns + offset_ns,
            packet.at_ns + offset_ns,
            event.fate.word(),
            u8::from(packet.marked),
        )?;
        Ok(())
    }
}
