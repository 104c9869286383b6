//! Early Hints (RFC 8297), as Chromium takes them. It fetches resources that an answer with status
//! 103 names into its cache, where the page finds them. Resources that may not be kept are fetched
//! again when the page asks. Preconnects are not followed.

use std::collections::BTreeMap;
use std::time::Duration;

use http::{HeaderMap, StatusCode, Uri, header};
use httpdate::parse_http_date;

use crate::event::Received;
use crate::graph::News;
use crate::input::ResourceId;

/// Resources that were requested before the page requested them.
#[derive(Default)]
pub(crate) struct Preloads(BTreeMap<ResourceId, Preload>);

#[derive(Default)]
struct Preload {
    /// Whether the page has requested the resource.
    asked: bool,
    /// Whether the answer's headers let the cache keep it; None before they came.
    fresh: Option<bool>,
    received: Received,
    ended: Option<Ended>,
    /// Whether the page took the preload, or fetched the resource again.
    taken: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    Well,
    Badly,
}

/// What the page does about a resource that was requested ahead.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Waits for the rest of the preload.
    Wait,
    /// Fetches the resource itself.
    Again,
    /// Takes what came of the preload.
    Take(Vec<News>),
}

impl Preloads {
    /// Notes that an answer names this resource; returns whether for the first time.
    pub fn begin(&mut self, id: ResourceId) -> bool {
        let new = !self.named(id);
        self.0.entry(id).or_default();
        new
    }

    pub fn named(&self, id: ResourceId) -> bool {
        self.0.contains_key(&id)
    }

    /// Whether the page took the preload.
    pub fn taken(&self, id: ResourceId) -> bool {
        self.0.get(&id).is_some_and(|preload| preload.taken)
    }

    /// Notes that the page asks for the resource, and returns what it does. None if the resource
    /// was not requested ahead.
    pub fn ask(&mut self, id: ResourceId) -> Option<Use> {
        let preload = self.0.get_mut(&id)?;
        preload.asked = true;
        Some(preload.so_far())
    }

    /// Takes news of a preload. `good` says whether a cache may answer with these headers, or
    /// whether the body ended without a failure.
    pub fn learn(&mut self, id: ResourceId, news: News, good: bool) -> Use {
        let Some(preload) = self.0.get_mut(&id) else {
            return Use::Wait;
        };
        match news {
            News::Headers => preload.fresh = Some(good),
            News::Bytes { wire, decoded } => preload.received = Received { wire, decoded },
            News::End => preload.ended = Some(if good { Ended::Well } else { Ended::Badly }),
        }
        if preload.taken {
            Use::Take(vec![news])
        } else {
            preload.so_far()
        }
    }
}

impl Preload {
    fn so_far(&mut self) -> Use {
        if !self.asked {
            return Use::Wait;
        }
        match (self.fresh, self.ended) {
            (None, None) => Use::Wait,
            (Some(true), None | Some(Ended::Well)) => {
                self.taken = true;
                let Received { wire, decoded } = self.received;
                let came = [News::Headers, News::Bytes { wire, decoded }];
                let end = self.ended.map(|_| News::End);
                Use::Take(came.into_iter().chain(end).collect())
            }
            _ => {
                self.asked = false; // What else comes of this preload does not matter.
                Use::Again
            }
        }
    }
}

/// URLs that an answer to `document` tells to preload, made absolute (RFC 8288 section 3).
pub(crate) fn preloads(document: &Uri, headers: &HeaderMap) -> Vec<String> {
    let values = headers.get_all(header::LINK).iter();
    let text = values.filter_map(|value| value.to_str().ok());
    let links = text.flat_map(|value| value.split('<').skip(1));
    let named = links.filter_map(|link| {
        let (target, parameters) = link.split_once('>')?;
        is_preload(parameters).then(|| absolute(document, target))
    });
    named.collect()
}

fn is_preload(parameters: &str) -> bool {
    let mut parameters = parameters.split([';', ',']).map(str::trim);
    parameters.any(|parameter| {
        let Some((name, value)) = parameter.split_once('=') else {
            return false;
        };
        let mut relations = value.trim().trim_matches('"').split_ascii_whitespace();
        name.trim().eq_ignore_ascii_case("rel")
            && relations.any(|relation| {
                ["preload", "modulepreload"]
                    .iter()
                    .any(|known| relation.eq_ignore_ascii_case(known))
            })
    })
}

/// RFC 3986 section 5.2, without dots in paths.
fn absolute(base: &Uri, reference: &str) -> String {
    let scheme = base.scheme_str().unwrap_or("https");
    let authority = base.authority().map_or("", |authority| authority.as_str());
    if reference.contains("://") {
        reference.to_owned()
    } else if reference.starts_with("//") {
        format!("{scheme}:{reference}")
    } else if reference.starts_with('/') {
        format!("{scheme}://{authority}{reference}")
    } else {
        let folder = base
            .path()
            .rsplit_once('/')
            .map_or("", |(folder, _)| folder);
        format!("{scheme}://{authority}{folder}/{reference}")
    }
}

/// Whether Chromium's cache gives such an answer to a request that follows at once (RFC 9111 section 4.2).
pub(crate) fn fresh(status: u16, headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::CACHE_CONTROL).iter();
    let text = values.filter_map(|value| value.to_str().ok());
    let mut age = None;
    for directive in text.flat_map(|value| value.split(',')) {
        let directive = directive.trim().to_ascii_lowercase();
        match directive
            .split_once('=')
            .unwrap_or((directive.as_str(), ""))
        {
            ("no-store" | "no-cache", _) => return false,
            ("max-age", seconds) => age = seconds.trim_matches('"').parse::<u64>().ok(),
            _ => {}
        }
    }
    if status != StatusCode::OK {
        return false;
    }
    let date = |name| parse_http_date(headers.get(name)?.to_str().ok()?).ok();
    if let Some(age) = age {
        return age > 0;
    }
    let Some(now) = date(header::DATE) else {
        return false;
    };
    if headers.contains_key(header::EXPIRES) {
        return date(header::EXPIRES).is_some_and(|expires| expires > now);
    }
    // A tenth of its age, which must be above zero.
    let changed = date(header::LAST_MODIFIED);
    let unchanged = changed.and_then(|changed| now.duration_since(changed).ok());
    unchanged.is_some_and(|unchanged| unchanged / 10 >= Duration::from_secs(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(fields: &[(&'static str, &'static str)]) -> HeaderMap {
        let fields = fields.iter();
        fields
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect::<HeaderMap>()
    }

    #[test]
    fn links_name_what_to_preload() {
        let found = headers(&[
            (
                "link",
                "</a.css>; rel=preload; as=style, <//cdn.test/b.js?x=1,2>; as=script; rel=\"x modulepreload\"",
            ),
            (
                "link",
                "<https://c.test>; rel=preconnect, <d.woff2>; rel=preload;as=font;crossorigin",
            ),
            ("link", "</e.css>; rel=stylesheet; title=preload"),
        ]);
        let document = "https://a.test/b/?c=/d".parse().unwrap();
        let urls = [
            "https://a.test/a.css",
            "https://cdn.test/b.js?x=1,2",
            "https://a.test/b/d.woff2",
        ];
        assert_eq!(preloads(&document, &found), urls);
    }

    #[test]
    fn a_cache_keeps_what_is_fresh() {
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        let old = ("last-modified", "Sun, 06 Nov 1994 08:00:00 GMT");
        let later = ("expires", "Sun, 06 Nov 1994 08:49:38 GMT");
        for (fields, kept) in [
            (&[("cache-control", "public, max-age=60")][..], true),
            (&[("cache-control", "max-age=0"), date, later], false),
            (&[("cache-control", "max-age=60, no-store")], false),
            (&[("cache-control", "no-cache"), date, old], false),
            (&[date, later], true),
            (&[date, ("expires", "0"), old], false),
            (&[date, old], true),
            (
                &[date, ("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT")],
                false,
            ),
            (&[("etag", "\"a\"")], false),
        ] {
            assert_eq!(fresh(200, &headers(fields)), kept, "{fields:?}");
            assert!(!fresh(404, &headers(fields)));
        }
    }

    #[test]
    fn the_page_takes_what_came_before_it_asked() {
        let (mut preloads, bytes) = (
            Preloads::default(),
            News::Bytes {
                wire: 5,
                decoded: 9,
            },
        );
        assert_eq!(preloads.ask(3), None);
        assert!(preloads.begin(3) && !preloads.begin(3));
        assert_eq!(preloads.learn(3, News::Headers, true), Use::Wait);
        assert_eq!(preloads.learn(3, bytes, true), Use::Wait);
        assert!(!preloads.taken(3));
        assert_eq!(preloads.ask(3), Some(Use::Take(vec![News::Headers, bytes])));
        assert_eq!(
            preloads.learn(3, News::End, true),
            Use::Take(vec![News::End])
        );
        assert!(preloads.taken(3));
    }

    #[test]
    fn what_may_not_be_kept_is_fetched_again_once() {
        let mut preloads = Preloads::default();
        preloads.begin(3);
        assert_eq!(
            preloads.ask(3),
            Some(Use::Wait),
            "it may yet turn out to be fresh"
        );
        assert_eq!(preloads.learn(3, News::Headers, false), Use::Again);
        assert_eq!(preloads.learn(3, News::End, true), Use::Wait);
        assert!(!preloads.taken(3));
        preloads.begin(4);
        preloads.learn(4, News::Headers, true);
        preloads.learn(4, News::End, false);
        assert_eq!(preloads.ask(4), Some(Use::Again), "it was cut off");
    }
}
