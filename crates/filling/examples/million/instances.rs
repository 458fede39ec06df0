//! Networks and connections by rule, from random numbers of their own.

use anabranch_filling::SinglePath;

/// Arrays of an instance; demands and weights are empty if there are none.
#[derive(Default)]
pub struct Instance {
    capacity: Vec<f64>,
    offsets: Vec<usize>,
    links: Vec<u32>,
    demand: Vec<f64>,
    weight: Vec<f64>,
}

impl Instance {
    pub fn shared(&self) -> SinglePath<'_> {
        SinglePath {
            capacity: &self.capacity,
            offsets: &self.offsets,
            links: &self.links,
            demand: &self.demand,
            weight: &self.weight,
            coefficient: &[],
        }
    }

    /// Each connection wants up to twice what all would have if they shared all links alike.
    pub fn with_demands(mut self) -> Self {
        let mut random = Random(1);
        let mean = self.capacity.iter().sum::<f64>() / self.links.len() as f64;
        self.demand = (1..self.offsets.len()).map(|_| 2.0 * mean * random.fraction()).collect();
        self
    }

    /// Weights of 0.1 to 10.
    pub fn with_weights(mut self) -> Self {
        let mut random = Random(1);
        self.weight = (1..self.offsets.len()).map(|_| 10f64.powf(2.0 * random.fraction() - 1.0)).collect();
        self
    }
}

/// A 16-ary fat tree of 1,024 hosts with links of 10; connections between random hosts on random shortest paths.
pub fn fat_tree(connections: usize) -> Instance {
    const HALF: usize = 8;
    const HOSTS: usize = 1024;
    let mut random = Random(42);
    let mut made = Instance { capacity: vec![10.0; 6 * HOSTS], offsets: vec![0], ..Instance::default() };
    for _ in 0..connections {
        let source = random.below(HOSTS);
        let target = (source + 1 + random.below(HOSTS - 1)) % HOSTS;
        // Links up, then those down; at each level one for each host: to edges, to aggregations, to cores.
        let mut both = |level: usize, up: usize, down: usize| {
            made.links.extend([level * HOSTS + up, (3 + level) * HOSTS + down].map(|link| link as u32));
        };
        both(0, source, target);
        let (edge, last_edge) = (source / HALF, target / HALF);
        if edge != last_edge {
            let aggregation = random.below(HALF);
            both(1, edge * HALF + aggregation, last_edge * HALF + aggregation);
            let (pod, last_pod) = (edge / HALF, last_edge / HALF);
            if pod != last_pod {
                let core = random.below(HALF);
                both(2, (pod * HALF + aggregation) * HALF + core, (last_pod * HALF + aggregation) * HALF + core);
            }
        }
        made.offsets.push(made.links.len());
    }
    made
}

/// 2,000 links of 1 to 10; connections over 4 to 16 different ones.
pub fn random(connections: usize) -> Instance {
    const LINKS: usize = 2000;
    let mut random = Random(42);
    let capacity = (0..LINKS).map(|_| 1.0 + 9.0 * random.fraction()).collect();
    let mut made = Instance { capacity, offsets: vec![0], ..Instance::default() };
    for _ in 0..connections {
        let start = made.links.len();
        let end = start + 4 + random.below(13);
        while made.links.len() < end {
            let link = random.below(LINKS) as u32;
            if !made.links[start..].contains(&link) {
                made.links.push(link);
            }
        }
        made.offsets.push(end);
    }
    made
}

/// SplitMix64 [steele2014].
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A whole number from 0 to below `end`.
    fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }

    /// A number from 0 to below 1.
    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}
