//! Answers that a page keeps waiting for: server-sent events and long polls.
//!
//! Such an answer may have continued after the recording's end. If the replay ended it, or sent it
//! at once, the page would request it again and again.

use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName};
use http::{Method, StatusCode, request};

use crate::page::answer::Answer;

/// The media type of server-sent events (HTML section 9.2).
const EVENTS: &str = "text/event-stream";

/// The header that says what a request is for (Fetch Metadata section 2.1). Scripts' own requests
/// have the destination `empty`.
const DESTINATION: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// The shortest time that shows a long poll: a server that takes longer to answer a script waits
/// for something to tell. Gateways give up on a slow answer after 30 s or 60 s, and no user looks
/// on for as long.
const POLL: Duration = Duration::from_secs(10);

/// Whether an EventSource asks for a stream of events and gets one. Other scripts that read such a
/// stream wait for its end.
pub(crate) fn is_events(request: &request::Parts, answer: &Answer) -> bool {
    request.method == Method::GET
        && answer.status == StatusCode::OK
        && says(&request.headers, ACCEPT)
        && says(&answer.headers, CONTENT_TYPE)
}

/// Whether a script's request waits for news from its server, which took that long to answer.
pub(crate) fn is_poll(think: Duration, request: &request::Parts) -> bool {
    let destination = request.headers.get(DESTINATION);
    think >= POLL && destination.is_some_and(|destination| destination == "empty")
}

fn says(headers: &HeaderMap, name: HeaderName) -> bool {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    let kind = value.and_then(|value| value.split([';', ',']).next());
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case(EVENTS))
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;
    use crate::page::answer::Match;

    fn request(method: &str, header: (&str, &str)) -> request::Parts {
        let made = Request::builder().method(method).header(header.0, header.1);
        made.body(()).unwrap().into_parts().0
    }

    fn answer(kind: &str) -> Answer {
        let mut answer = Answer::empty(StatusCode::OK, Match::Exact);
        answer.headers.insert(CONTENT_TYPE, kind.parse().unwrap());
        answer
    }

    #[test]
    fn only_an_event_source_keeps_its_answer_open() {
        let events = answer("text/event-stream; charset=utf-8");
        let source = request("GET", ("accept", EVENTS));
        assert!(is_events(&source, &events));
        assert!(!is_events(&source, &answer("text/html")));
        assert!(!is_events(&request("POST", ("accept", EVENTS)), &events));
        assert!(!is_events(&request("GET", ("accept", "*/*")), &events));
    }

    #[test]
    fn a_long_poll_is_a_scripts_request_that_took_long() {
        let script = request("GET", ("sec-fetch-dest", "empty"));
        assert!(is_poll(POLL, &script));
        assert!(!is_poll(POLL / 2, &script));
        assert!(!is_poll(POLL, &request("GET", ("sec-fetch-dest", "image"))));
    }
}
