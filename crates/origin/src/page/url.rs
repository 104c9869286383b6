//! The parts of absolute URLs.

/// Splits an absolute URL: whether it is over TLS, its authority (see `Entry::authority`), and its
/// path with query.
pub(crate) fn split_url(url: &str) -> Option<(bool, String, String)> {
    let (scheme, rest) = url.split_once("://")?;
    let secure = match scheme {
        "https" | "wss" => true,
        "http" | "ws" => false,
        _ => return None,
    };
    let rest = rest.split('#').next().unwrap_or(rest);
    let (authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let slash = if target.starts_with('/') { "" } else { "/" };
    let authority = normal(authority, secure);
    (!host_of(&authority).is_empty()).then(|| (secure, authority, format!("{slash}{target}")))
}

/// Writes an authority as in `Entry::authority`.
pub(crate) fn normal(authority: &str, secure: bool) -> String {
    let lower = authority.to_ascii_lowercase();
    let own = if secure { ":443" } else { ":80" };
    lower.strip_suffix(own).map_or(lower.clone(), str::to_owned)
}

/// Returns the port of `host[:port]`; None if no port is given.
pub(crate) fn port_of(authority: &str) -> Option<u16> {
    let after_host = authority.rsplit(']').next().unwrap_or(authority);
    after_host.rsplit_once(':')?.1.parse().ok()
}

/// Returns the host of `host[:port]`, in lower case; an IPv6 address without its brackets.
pub(crate) fn host_of(authority: &str) -> String {
    let lower = authority.to_ascii_lowercase();
    if let Some((host, _)) = lower.strip_prefix('[').and_then(|v6| v6.split_once(']')) {
        return host.to_owned();
    }
    let host = lower.split_once(':').map(|(host, _port)| host.to_owned());
    host.unwrap_or(lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_belongs_to_the_authority_unless_it_is_the_schemes_own() {
        for (url, authority, host, port) in [
            ("https://A.test/x", "a.test", "a.test", None),
            ("https://a.test:443/", "a.test", "a.test", None),
            ("http://a.test:443/", "a.test:443", "a.test", Some(443)),
            ("ws://a.test:8080", "a.test:8080", "a.test", Some(8080)),
            ("https://[::1]/", "[::1]", "::1", None),
            ("https://[::1]:3000/", "[::1]:3000", "::1", Some(3000)),
        ] {
            let (_, found, _) = split_url(url).unwrap();
            assert_eq!(
                (found.as_str(), host_of(&found).as_str()),
                (authority, host)
            );
            assert_eq!(port_of(&found), port);
        }
        assert_eq!(split_url("https:///x"), None);
        assert_eq!(split_url("ftp://a.test/"), None);
    }
}
