//! A page file made in the test, an origin that serves it, and loads of it.

use std::fs::{self, File};
use std::io::Write;

use dragstrip_loader::{Load, Memory, Report};
use dragstrip_origin::{Origin, Tuning};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::LocalSet;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

pub const PROTOCOLS: [&str; 3] = ["h1", "h2", "h3"];

/// An object of the page: path, content type and coding, bytes on the wire.
pub type Object<'a> = (&'a str, &'a str, &'a [u8]);

pub struct Site {
    pub origin: Origin,
    dir: TempDir,
}

impl Site {
    /// An origin on a free port that serves these, the document first, at https://a.test.
    pub fn new(objects: &[Object]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let origin = Origin::bind(0, None).unwrap();
        fs::write(dir.path().join("ca.pem"), origin.roots_pem().unwrap()).unwrap();
        let file = |n: usize| format!("body-{n}");
        let entry = |(n, (path, coding, _)): (usize, &Object)| {
            let mut response =
                json!({ "status": 200, "headers": [], "content": { "_file": file(n) } });
            if !coding.is_empty() {
                response["headers"] = json!([{ "name": "content-encoding", "value": coding }]);
                response["_dragstrip"] = json!({ "wire_file": file(n) });
            }
            json!({
                "request": { "method": "GET", "url": format!("https://a.test{path}"), "headers": [] },
                "response": response,
            })
        };
        let entries: Vec<Value> = objects.iter().enumerate().map(entry).collect();
        let page = json!({ "format": 1, "name": "test", "url": "https://a.test/", "source": "", "changes": [] });
        let har = json!({ "log": { "_dragstrip": page, "entries": entries } }).to_string();
        let path = dir.path().join("test.har.zip");
        let mut zip = ZipWriter::new(File::create(&path).unwrap());
        zip.start_file("har.har", SimpleFileOptions::default())
            .unwrap();
        zip.write_all(har.as_bytes()).unwrap();
        for (n, (_, _, body)) in objects.iter().enumerate() {
            zip.start_file(file(n), SimpleFileOptions::default())
                .unwrap();
            zip.write_all(body).unwrap();
        }
        zip.finish().unwrap();
        origin.page(&path, false).unwrap();
        Self { origin, dir }
    }

    pub fn tuned(self, tuning: Tuning) -> Self {
        self.origin.tune(tuning).unwrap();
        self
    }

    /// Returns the address and port where this server answers.
    pub fn place(&self) -> String {
        format!("127.0.0.1:{}", self.origin.port())
    }

    pub fn url(path: &str) -> String {
        format!("https://a.test{path}")
    }

    /// The document and these, asked for when it is complete.
    pub fn page(paths: &[&str]) -> Value {
        let accept = json!([["accept-encoding", "gzip, deflate, br, zstd"]]);
        let mut resources = vec![json!({
            "url": Self::url("/"), "kind": "document", "priority": "highest", "headers": accept,
        })];
        resources.extend(paths.iter().map(|path| {
            json!({
                "url": Self::url(path), "headers": accept,
                "after": { "resource": 0, "at": "complete" },
            })
        }));
        json!({ "resources": resources })
    }

    /// Everything a load needs, but for what `fields` says otherwise.
    pub fn input(&self, page: Value, fields: Value) -> Load {
        let mut input = json!({
            "page": page,
            "hosts": { "a.test": self.place() },
            "protocol": "h2",
            "ca": self.dir.path().join("ca.pem"),
            "limits": { "time_ms": 20_000 },
        });
        for (name, value) in fields.as_object().unwrap() {
            input[name] = value.clone();
        }
        serde_json::from_value(input).unwrap()
    }

    pub async fn load(&self, page: Value, fields: Value, memory: &mut Memory) -> Report {
        run(&self.input(page, fields), memory).await
    }
}

pub async fn run(input: &Load, memory: &mut Memory) -> Report {
    let tasks = LocalSet::new();
    tasks
        .run_until(dragstrip_loader::load(input, memory))
        .await
        .unwrap()
}
