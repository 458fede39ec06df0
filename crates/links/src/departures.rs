//! The pending departures on all links. Each link has a ring, and all rings share one array, so that a short queue is
//! one cache line.

/// Number of entries in a line.
const LINE: u32 = 8;

/// A cache line of departure times.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line([u64; LINE as usize]);

/// The position of a link's ring in the array.
#[derive(Clone, Copy, Debug)]
pub struct Ring {
    /// Index of the first line, and the binary logarithm of the ring's length in entries.
    line: u32,
    log: u8,
    head: u32,
    len: u32,
}

/// The rings of all links.
#[derive(Clone, Debug, Default)]
pub struct Departures {
    lines: Vec<Line>,
    /// The first lines of rings that were outgrown, by the logarithm of their length.
    free: Vec<Vec<u32>>,
}

impl Departures {
    /// Makes an empty ring.
    pub fn ring(&mut self) -> Ring {
        let log = LINE.ilog2() as u8;
        Ring { line: self.take(log), log, head: 0, len: 0 }
    }

    fn take(&mut self, log: u8) -> u32 {
        if self.free.len() <= log as usize {
            self.free.resize_with(log as usize + 1, Vec::new);
        }
        self.free[log as usize].pop().unwrap_or_else(|| {
            let line = self.lines.len() as u32;
            self.lines.resize(self.lines.len() + (1 << log) / LINE as usize, Line([0; LINE as usize]));
            line
        })
    }

    #[inline]
    fn entry(&mut self, ring: &Ring, number: u32) -> &mut u64 {
        let place = (ring.head + number) & ((1 << ring.log) - 1);
        &mut self.lines[(ring.line + place / LINE) as usize].0[(place % LINE) as usize]
    }

    /// Adds a departure, which must not be before the last.
    #[inline]
    pub fn push(&mut self, ring: &mut Ring, time: u64) {
        if ring.len == 1 << ring.log {
            self.grow(ring);
        }
        *self.entry(ring, ring.len) = time;
        ring.len += 1;
    }

    /// Removes the departures up to now.
    #[inline]
    pub fn settle(&mut self, ring: &mut Ring, now: u64) {
        while ring.len > 0 && *self.entry(ring, 0) <= now {
            ring.head = (ring.head + 1) & ((1 << ring.log) - 1);
            ring.len -= 1;
        }
    }

    #[cold]
    fn grow(&mut self, ring: &mut Ring) {
        let log = ring.log + 1;
        let larger = Ring { line: self.take(log), log, head: 0, len: ring.len };
        for number in 0..ring.len {
            *self.entry(&larger, number) = *self.entry(ring, number);
        }
        self.free[ring.log as usize].push(ring.line);
        *ring = larger;
    }

    /// Reads both ends of a ring, to fetch them into the cache early.
    #[inline]
    pub fn prefetch(&self, ring: &Ring) -> u64 {
        let mask = (1 << ring.log) - 1;
        let at = |place: u32| self.lines[(ring.line + place / LINE) as usize].0[0];
        at(ring.head) ^ at((ring.head + ring.len) & mask)
    }
}

impl Ring {
    /// Number of pending departures.
    pub fn len(&self) -> u32 {
        self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_grow_and_forget_in_order() {
        let mut departures = Departures::default();
        let (mut a, mut b) = (departures.ring(), departures.ring());
        for time in 0..100 {
            departures.push(&mut a, time);
            departures.push(&mut b, 2 * time);
            departures.settle(&mut b, time);
        }
        assert_eq!((a.len(), b.len()), (100, 50));
        departures.settle(&mut a, 97);
        assert_eq!(a.len(), 2);
        departures.settle(&mut b, 196);
        assert_eq!(b.len(), 1);
    }
}
