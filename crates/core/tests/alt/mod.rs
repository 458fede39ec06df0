//! Reads the `.alt` graphs of GT-ITM: nodes with names, edges with lengths and policy weights.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anabranch_core::generate::{Diameters, LinkClass};

/// A transit-stub graph in a file.
pub struct Graph {
    diameters: Diameters,
    /// `T:d.i` is node i of transit domain d; `S:d.i/s.k` is node k of stub s of that node.
    names: Vec<String>,
    /// Both ends and the policy weight.
    edges: Vec<(usize, usize, u32)>,
}

impl Graph {
    /// The graph in this file.
    pub fn read(file: &Path) -> Self {
        let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let (head, rest) = text.split_once("VERTICES").expect("a graph has vertices");
        let (vertices, edges) = rest.split_once("EDGES").expect("a graph has edges");
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<String>>();
        let rows = |part: &str| part.lines().skip(1).map(words).filter(|w| !w.is_empty()).collect::<Vec<_>>();
        let number = |word: &str| word.parse::<u32>().expect("a number");
        // The second line ends in scale, transit diameter, stub diameter and top diameter.
        let sizes = words(head.lines().nth(1).expect("the head has two lines"));
        let [transit, stub, top] = [3, 2, 1].map(|back| number(&sizes[sizes.len() - back]));
        let edge = |w: &Vec<String>| (number(&w[0]) as usize, number(&w[1]) as usize, number(&w[3]));
        Self {
            diameters: Diameters { transit, stub, top },
            names: rows(vertices).into_iter().map(|mut w| w.swap_remove(1)).collect(),
            edges: rows(edges).iter().map(edge).collect(),
        }
    }

    pub fn nodes(&self) -> usize {
        self.names.len()
    }

    pub fn edges(&self) -> Vec<(usize, usize)> {
        self.edges.iter().map(|&(a, b, _)| (a, b)).collect()
    }

    pub fn count(&self, class: LinkClass) -> u32 {
        self.edges.iter().filter(|&&(a, b, _)| self.class(a, b) == class).count() as u32
    }

    /// How many nodes each stub has.
    pub fn stub_sizes(&self) -> Vec<usize> {
        let mut sizes = BTreeMap::new();
        for name in self.names.iter().filter(|name| name.starts_with('S')) {
            *sizes.entry(domain(name)).or_insert(0) += 1;
        }
        sizes.into_values().collect()
    }

    /// Fails unless every edge has the weight that the generator gives to its class.
    pub fn assert_policy_weights(&self) {
        for &(a, b, weight) in &self.edges {
            let class = self.class(a, b);
            assert_eq!(weight, self.diameters.policy_weight(class), "{} to {}", self.names[a], self.names[b]);
        }
    }

    fn class(&self, a: usize, b: usize) -> LinkClass {
        let (a, b) = (&self.names[a], &self.names[b]);
        match (a.starts_with('T'), b.starts_with('T'), domain(a) == domain(b)) {
            (true, true, true) => LinkClass::Transit,
            (true, true, false) => LinkClass::InterDomain,
            (false, false, true) => LinkClass::Stub,
            (false, false, false) => LinkClass::StubStub,
            _ => LinkClass::TransitStub,
        }
    }
}

/// The name without the number of the node: `T:0` of `T:0.3`, `S:0.3/1` of `S:0.3/1.4`.
fn domain(name: &str) -> &str {
    name.rsplit_once('.').expect("names end in the number of the node").0
}
