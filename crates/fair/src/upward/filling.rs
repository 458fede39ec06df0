//! The links while they fill, and the search for the link that saturates next.
//!
//! A link's slope changes by addition and subtraction. When only a small part of its greatest value is left, the slope
//! may be all rounding error, and is stale: the link then counts as if it saturated at the earliest level that is
//! possible. Its slope is summed anew only if that makes it the next to saturate. The search keeps the least level of
//! each block of links, and looks again only into blocks that have changed.

/// A slope is stale when less than this part of its greatest value is left.
const STALE: f64 = 1e-4;

/// The greatest rounding error of a slope, as a part of its greatest value.
const DOUBT: f64 = 1e-10;

/// Links in a block of the search.
const BLOCK: usize = 64;

/// A link while it fills.
#[derive(Clone, Copy, Default)]
pub(super) struct Link {
    /// Capacity left at level `since`.
    pub left: f64,
    pub slope: f64,
    pub since: f64,
    /// The greatest slope seen at a search since the slope was summed anew.
    pub peak: f64,
}

/// The links, and the search for the one that saturates next.
pub(super) struct Filling {
    links: Vec<Link>,
    /// The least level at which a link of each block saturates, and that link.
    least: Vec<(f64, u32)>,
    is_touched: Vec<bool>,
}

impl Link {
    /// The level at which the link saturates, or an earlier one if the slope is stale; infinite if its load does not
    /// grow.
    fn level(&self) -> f64 {
        let slope = if self.is_stale() { self.slope.max(0.0) + DOUBT * self.peak } else { self.slope };
        if slope > 0.0 { self.since + self.left.max(0.0) / slope } else { f64::INFINITY }
    }

    pub fn is_stale(&self) -> bool {
        self.slope < STALE * self.peak
    }

    /// Adds `change` to the slope at level `z`.
    fn tilt(&mut self, change: f64, z: f64) {
        // Many pairs change at one level: only the first has anything to subtract.
        if z > self.since {
            self.left -= self.slope * (z - self.since);
            self.since = z;
        }
        self.slope += change;
    }
}

impl Filling {
    pub fn new(links: usize) -> Self {
        let blocks = links.div_ceil(BLOCK);
        Self {
            links: vec![Link::default(); links],
            least: vec![(f64::INFINITY, 0); blocks],
            is_touched: vec![true; blocks],
        }
    }

    /// The state of a link.
    pub fn link(&self, number: usize) -> Link {
        self.links[number]
    }

    /// Replaces the state of a link.
    pub fn set(&mut self, number: usize, link: Link) {
        self.links[number] = link;
        self.is_touched[number / BLOCK] = true;
    }

    /// The link that saturates first, and its level.
    pub fn next(&mut self) -> (f64, usize) {
        for (block, links) in self.links.chunks_mut(BLOCK).enumerate() {
            if std::mem::take(&mut self.is_touched[block]) {
                for link in links.iter_mut() {
                    link.peak = link.peak.max(link.slope);
                }
                let levels = links.iter().zip(block * BLOCK..).map(|(link, number)| (link.level(), number as u32));
                self.least[block] = least(levels);
            }
        }
        let (level, link) = least(self.least.iter().copied());
        (level, link as usize)
    }

    /// Changes the slope of a link at level `z`.
    pub fn tilt(&mut self, number: usize, change: f64, z: f64) {
        self.links[number].tilt(change, z);
        self.is_touched[number / BLOCK] = true;
    }
}

/// The first of the lowest levels, and its link.
fn least(levels: impl Iterator<Item = (f64, u32)>) -> (f64, u32) {
    levels.fold((f64::INFINITY, 0), |lowest, other| if other.0 < lowest.0 { other } else { lowest })
}
