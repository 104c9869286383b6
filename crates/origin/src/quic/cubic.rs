//! CUBIC's congestion avoidance (RFC 9438; section numbers are its own).
//!
//! Windows are bytes, where the RFC has segments; the constants apply to packets of `mtu` bytes.
//! Where Linux (net/ipv4/tcp_cubic.c) decides otherwise, so does this, because a race of TCP
//! against QUIC must not be one of two CUBICs:
//! - until the first loss, the window grows by at least a twentieth per round trip;
//! - the Reno-friendly estimate grows by alpha forever, not by 1 once it has reached the last window.

use std::time::{Duration, Instant};

/// Section 4.6: the share of the window that remains after a loss.
pub(crate) const BETA: f64 = 0.7;
/// Section 5: C, in packets per second cubed.
const C: f64 = 0.4;
/// Section 4.3: makes the estimate's throughput that of Reno.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// Section 4.2: the target is no more than half as large again.
const MOST_GROWTH: f64 = 1.5;
/// Linux, before the first loss: "increase cwnd 5% per RTT".
const LEAST_GROWTH: f64 = 0.05;

#[derive(Debug, Clone, Default)]
pub(crate) struct Cubic {
    /// W_max: the window before the last loss, or less (4.7); 0 before the first loss.
    w_max: f64,
    epoch: Option<Epoch>,
}

/// Congestion avoidance since the last reduction.
#[derive(Debug, Clone, Copy)]
struct Epoch {
    began: Instant,
    /// The window at which the curve is flat.
    origin: f64,
    /// K (4.2): seconds from the beginning of the epoch to the flat part of the curve.
    k: f64,
    /// W_est, the window that Reno would have (4.3).
    estimate: f64,
}

impl Cubic {
    /// Returns the window after a loss (4.6), and remembers the window before it (4.7).
    pub fn reduce(&mut self, window: f64) -> f64 {
        self.epoch = None;
        self.w_max = if window < self.w_max {
            window * (1.0 + BETA) / 2.0
        } else {
            window
        };
        window * BETA
    }

    /// Resets the state: everything was lost for so long that slow start begins again (4.8).
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// Leaves out a pause in which the sender had nothing to send (5.8).
    pub fn idle(&mut self, pause: Duration) {
        if let Some(epoch) = &mut self.epoch {
            epoch.began += pause;
        }
    }

    /// Returns the window after `acked` more bytes were acknowledged. `least_rtt` is the shortest
    /// round trip known.
    pub fn grow(
        &mut self,
        now: Instant,
        window: f64,
        acked: f64,
        least_rtt: Duration,
        mtu: f64,
    ) -> f64 {
        let w_max = self.w_max;
        let epoch = self.epoch.get_or_insert_with(|| {
            let origin = w_max.max(window);
            Epoch {
                began: now,
                origin,
                k: ((origin - window) / mtu / C).cbrt(),
                estimate: window,
            }
        });
        let t = now.saturating_duration_since(epoch.began) + least_rtt;
        let curve = epoch.origin + C * (t.as_secs_f64() - epoch.k).powi(3) * mtu;
        let mut share = curve.clamp(window, MOST_GROWTH * window) / window - 1.0;
        if w_max == 0.0 {
            share = share.max(LEAST_GROWTH);
        }
        epoch.estimate += ALPHA * mtu * acked / window;
        let friendly = epoch.estimate.min(window + acked / 2.0);
        (window + share * acked).max(friendly)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MTU: f64 = 1448.0;

    /// The average window, in packets, where every `period`th packet is lost and round trips are
    /// alike: section 5.1's deterministic loss model.
    fn average(period: u64, rtt: Duration) -> f64 {
        let begin = Instant::now();
        let (mut cubic, mut now, mut window) = (Cubic::default(), begin, 10.0 * MTU);
        let (mut sent, mut since_loss, mut sum, mut rounds) = (0, 0, 0.0, 0.0);
        while sent < 400 * period {
            let packets = (window / MTU) as u64;
            now += rtt;
            for _ in 0..packets {
                since_loss += 1;
                if since_loss >= period {
                    since_loss = 0;
                    window = cubic.reduce(window);
                    break;
                }
                window = cubic.grow(now, window, MTU, rtt, MTU);
            }
            sent += packets;
            if sent > 100 * period {
                sum += packets as f64;
                rounds += 1.0;
            }
        }
        sum / rounds
    }

    #[test]
    fn average_windows_are_those_of_the_rfc() {
        // Tables 1 and 2, C = 0.4: the loss rate, the round trip, packets. Where Reno's window is
        // larger the table has that.
        for (period, rtt_ms, packets) in [
            (100, 100, 12.0),
            (1_000, 100, 38.0),
            (10_000, 100, 187.0),
            (100_000, 100, 1054.0),
            (10_000, 10, 120.0),
        ] {
            let found = average(period, Duration::from_millis(rtt_ms));
            assert!(
                (found / packets - 1.0).abs() < 0.1,
                "a loss in {period}, {rtt_ms} ms: {found}, not {packets}"
            );
        }
    }

    #[test]
    fn after_a_loss_it_is_back_after_k() {
        let begin = Instant::now();
        let mut cubic = Cubic::default();
        let mut window = cubic.reduce(1000.0 * MTU);
        assert!((window / (700.0 * MTU) - 1.0).abs() < 1e-9);
        // K = cbrt(300 / 0.4) s (section 4.2, equation 2).
        let k = 9.086;
        let rtt = Duration::from_millis(100);
        let (mut now, mut middle) = (begin, 0.0);
        while now + rtt < begin + Duration::from_secs_f64(k) {
            now += rtt;
            window = cubic.grow(now, window, window, rtt, MTU);
            if now < begin + Duration::from_secs_f64(k / 2.0) {
                middle = window;
            }
        }
        assert!((window / (1000.0 * MTU) - 1.0).abs() < 0.01, "{window}");
        // An eighth of the way is left at half time.
        let left = (1000.0 * MTU - middle) / (300.0 * MTU);
        assert!((0.1..0.17).contains(&left), "{left}");
    }

    #[test]
    fn two_losses_in_a_row_remember_less() {
        let mut cubic = Cubic::default();
        let window = cubic.reduce(100.0 * MTU);
        assert_eq!(cubic.w_max, 100.0 * MTU);
        cubic.reduce(window);
        assert_eq!(cubic.w_max, 0.85 * window);
    }

    #[test]
    fn idle_time_does_not_count() {
        let (begin, rtt) = (Instant::now(), Duration::from_millis(50));
        let windows = [0, 60].map(|pause| {
            let pause = Duration::from_secs(pause);
            let mut cubic = Cubic::default();
            let window = cubic.reduce(100.0 * MTU);
            let window = cubic.grow(begin, window, MTU, rtt, MTU);
            cubic.idle(pause);
            cubic.grow(begin + rtt + pause, window, MTU, rtt, MTU)
        });
        assert_eq!(windows[0], windows[1]);
    }

    #[test]
    fn without_a_loss_it_grows_by_a_twentieth() {
        let (now, rtt) = (Instant::now(), Duration::from_millis(20));
        let window = 40.0 * MTU;
        let grown = Cubic::default().grow(now, window, window, rtt, MTU);
        assert!((grown / window - 1.05).abs() < 1e-9);
    }

    #[test]
    fn however_long_there_was_no_loss_it_grows_by_half_at_most() {
        let (now, rtt) = (Instant::now(), Duration::from_millis(20));
        let mut cubic = Cubic::default();
        let window = cubic.reduce(10.0 * MTU);
        cubic.grow(now, window, MTU, rtt, MTU);
        let later = now + Duration::from_hours(10 * 24);
        let grown = cubic.grow(later, window, window, rtt, MTU);
        assert!((grown / window - MOST_GROWTH).abs() < 1e-9, "{grown}");
    }
}
